"""Three owners and a weekend: what each does, by day and local time."""

from collections.abc import Iterator
from dataclasses import dataclass

from tokenling.engine import JsonObject

DAY_MINUTES = 1_440
START_MS = 1_777_874_400_000
"""Monday, 2026-05-04, 08:00 in `ZONE`."""
START_MINUTE = 480
ZONE = "Europe/Berlin"

FEED: JsonObject = {"kind": "care", "action": "feed"}
WASH: JsonObject = {"kind": "care", "action": "wash"}
STROKE: JsonObject = {"kind": "care", "action": "stroke"}
TUCK: JsonObject = {"kind": "care", "action": "tuck"}
TOY: JsonObject = {"kind": "offer", "offer": "toy"}
HELLO: JsonObject = {"kind": "say", "text": "Hello, how are you?"}
GOOD_NIGHT: JsonObject = {"kind": "say", "text": "Good night, sleep well!"}
MISSED: JsonObject = {"kind": "say", "text": "I missed you!"}

Plan = tuple[tuple[int, JsonObject], ...]
"""Acts by local minute of the day."""
CARING: Plan = (
    (8 * 60, FEED), (8 * 60 + 2, HELLO), (13 * 60, FEED), (17 * 60 + 30, STROKE), (17 * 60 + 31, TOY),
    (18 * 60 + 30, WASH), (20 * 60, FEED), (20 * 60 + 5, GOOD_NIGHT), (21 * 60 + 30, TUCK),
)  # fmt: skip
EVENING: Plan = ((19 * 60, FEED), (19 * 60 + 5, HELLO))
EVENING_WITH_BATH: Plan = (*EVENING, (19 * 60 + 10, WASH))
MORNING_AND_EVENING: Plan = (
    (7 * 60 + 30, FEED), (7 * 60 + 32, HELLO), (19 * 60, FEED), (19 * 60 + 4, HELLO), (19 * 60 + 10, WASH),
)  # fmt: skip
RETURN: Plan = (
    (18 * 60, MISSED),
    (18 * 60 + 2, FEED),
    (18 * 60 + 5, WASH),
    (18 * 60 + 8, STROKE),
    (18 * 60 + 10, FEED),
)


@dataclass(frozen=True, slots=True)
class Owner:
    """`days` holds the plan of each day from the first on."""

    name: str
    about: str
    days: tuple[Plan, ...]

    def acts(self) -> Iterator[tuple[int, JsonObject]]:
        """Every act with its time, in order; what lies before the pet's birth is left out."""
        for day, plan in enumerate(self.days):
            for minute, act in plan:
                since = day * DAY_MINUTES + minute - START_MINUTE
                if since >= 0:
                    yield START_MS + since * 60_000, act

    @property
    def end_ms(self) -> int:
        """Midnight after the last day."""
        return START_MS + (len(self.days) * DAY_MINUTES - START_MINUTE) * 60_000


ATTENTIVE = Owner("attentive", "six visits a day", (CARING,) * 7)
BUSY = Owner("busy", "one visit in the evening, a bath every other day", (EVENING, EVENING_WITH_BATH) * 3 + (EVENING,))
ABSENT = Owner(
    "absent", "attentive for three days, ten days away, then back at six", (*(CARING,) * 3, *((),) * 10, RETURN)
)
WEEKEND = Owner(
    "weekend", "attentive from Monday to Friday, then away until Monday, 08:00", (*(CARING,) * 5, (), (), CARING)
)
OWNERS = (ATTENTIVE, BUSY, ABSENT, WEEKEND)
