"""A talk with a scripted brain: words by turn id, time by hand, the screen's calls kept."""

from contextlib import contextmanager

from tokenling.cli.pet_file import PetFile
from tokenling.cli.talk_life import WordsFailed
from tokenling.engine import Reply, new_pet
from tokenling.engine.contract import words_for

MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR
NOON = 1_781_172_000_000
"""2026-06-11 12:00 in Berlin."""


def egg(name="Pip"):
    return new_pet(
        pet_seed="fern", name=name, time_zone="Europe/Berlin", brain_id="sprout-0", weather_seed="sky", now_ms=NOON
    )


class Script:
    """Words of the contract, keyed by the pet's request and turn; every piece is one character."""

    def __init__(self, text=None, *, fail_with=None):
        self.requests = []
        self.fail_with = fail_with
        self._text = text

    def write(self, request, on_piece):
        self.requests.append(request)
        text = self._text if self._text is not None else words_for_request(request)
        for character in text:
            on_piece(character)
        if self.fail_with:
            raise WordsFailed(self.fail_with)
        return Reply(text, "newline", ())


def words_for_request(request):
    """A function of the request's seed, so a function of pet and turn."""

    class Keyed:
        id = str(request.seed)

    return words_for("talk", Keyed()).text


class Heard:
    """A screen that keeps what it is told; `kept` is the list of saves, to compare orders."""

    def __init__(self, kept=()):
        self.calls = []
        self.kept = kept

    def piece(self, turn, text):
        self.calls.append(("piece", turn.id, text))

    def replied(self, turn, words, step):
        self.calls.append(("replied", turn.kind, words, len(self.kept)))

    def failed(self, turn, code):
        self.calls.append(("failed", turn.kind, code))

    def happened(self, effects, notices):
        self.calls.append(("happened", [effect["kind"] for effect in effects], [notice["kind"] for notice in notices]))

    @contextmanager
    def catching_up(self, minutes):
        self.calls.append(("catching up", minutes))
        yield lambda done: self.calls.append(("lived", done))
        self.calls.append(("caught up",))


class Drawer(PetFile):
    """A pet file in memory: the bytes of every step."""

    def __init__(self, path):
        super().__init__(path)
        self.saves = []

    def keep(self, data):
        self.saves.append(data)
