"""What really happened, kept apart from every store and page, and the seven invariants over it, a class each."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sim_values import Request, context_of, marks_of

from tokenling.protocol import (
    Activate,
    Delete,
    Event,
    Live,
    OwnerOperation,
    Park,
    Quarantine,
    Record,
    Status,
    Tombstone,
)

if TYPE_CHECKING:
    from sim_browser import Browser, Disk
    from sim_store import SimulatedStore
    from sim_world import World


class Broken(AssertionError):  # noqa: N818 - an invariant is broken
    """An invariant does not hold."""


def hold(invariant: object, true: bool, found: str) -> None:
    """Raise `Broken`, naming the invariant, unless it is `true`."""
    if not true:
        raise Broken(f"{type(invariant).__name__}: {found}")


@dataclass(frozen=True, slots=True)
class Commit:
    """The host committed `after` (None: deleted), deciding on `decided_on`, for `request` if an owner asked."""

    pet_id: str
    event: Event
    decided_on: Record | None
    after: Record | None
    request: Request | None
    replaced: bytes | None = None
    """The save that is kept for a week in case its replacing was a mistake."""


class FencedWritesAreRefused:
    """Nothing is committed but on the record that stands, under the epoch (and, for an executor, revision) it has."""

    def committed(self, commit: Commit, before: Record | None) -> None:
        if not isinstance(commit.event, Delete):  # final whoever was first: it asks for no fence
            name = type(commit.event).__name__
            hold(self, commit.decided_on == before, f"{name} was decided on a record that is gone")
        if before is None:
            return
        if isinstance(commit.event, OwnerOperation):
            hold(self, commit.event.operation.epoch == before.epoch, "an operation of another epoch was committed")
        if isinstance(commit.event, Live | Quarantine):
            fence = (commit.event.epoch, commit.event.revision)
            hold(self, fence == (before.epoch, before.revision), "a fenced executor wrote")
            hold(self, before.status is Status.ACTIVE, "a pet lived that is not active")
        if isinstance(commit.event, Live) and commit.after is not None:
            self._check_reply(commit.after.save, before)

    def _check_reply(self, save: bytes, before: Record) -> None:
        last = marks_of(save)[-1]
        if last.startswith("t"):
            hold(self, last.startswith(f"t{before.epoch}."), "a reply was committed under another epoch")
            hold(self, context_of(save) == context_of(before.save), "a reply brought an owner's wish")


class NothingIsAppliedTwice:
    """No mark stands twice in a save, no operation id is applied twice."""

    def __init__(self) -> None:
        self._done: set[tuple[str, str]] = set()

    def committed(self, commit: Commit, before: Record | None) -> None:
        if isinstance(commit.event, OwnerOperation):
            name = (commit.pet_id, commit.event.operation.operation_id)
            hold(self, name not in self._done, f"operation {name[1]} was applied twice")
            self._done.add(name)
        if commit.after is not None:
            self.kept(commit.after.save)

    def kept(self, save: bytes) -> None:
        marks = marks_of(save)
        hold(self, len(set(marks)) == len(marks), f"a mark stands twice: {marks}")

    def rewound(self) -> None:
        """A restored backup has forgotten operations."""
        self._done.clear()


class NothingAcknowledgedIsLost:
    """What the host told as done is committed, and no commit drops it but one that the owner was warned of.

    A save that is kept as replaced is not lost.
    """

    def __init__(self) -> None:
        self._marks: dict[str, set[str]] = {}

    def committed(self, commit: Commit, before: Record | None) -> None:
        if commit.after is None:
            return
        now = set(marks_of(commit.after.save))
        self._marks.setdefault(commit.pet_id, set()).update(now)
        warned = commit.request is not None and commit.request.explicit
        if before is not None and not (isinstance(commit.event, Activate) and warned):
            lost = set(marks_of(before.save)) - now - set(marks_of(commit.replaced or b""))
            hold(self, not lost, f"{type(commit.event).__name__} lost {sorted(lost)}")

    def acknowledged(self, request: Request) -> None:
        if request.kind == "command":
            told = request.wish in self._marks.get(request.pet_id, set())
            hold(self, told, f"{request.wish} was told as done and is not committed")

    def found(self, pet_id: str, held: object, expected: object) -> None:
        hold(self, held == expected, f"the store does not hold what was committed of {pet_id}")


class RevisionsAndEpochsNeverGoBack:
    """Each commit has the next revision; the epoch grows by parking alone; a restore goes beyond all that was seen."""

    def __init__(self) -> None:
        self._high: dict[str, tuple[int, int]] = {}

    def committed(self, commit: Commit, before: Record | None) -> None:
        if commit.after is None or before is None:
            return
        hold(self, commit.after.revision == before.revision + 1, "a revision was skipped or used twice")
        step = 1 if isinstance(commit.event, Park) else 0
        hold(self, commit.after.epoch == before.epoch + step, "an epoch moved without a parking")
        self.seen(commit.pet_id, commit.after)

    def seen(self, pet_id: str, record: Record) -> None:
        epoch, revision = self._high.get(pet_id, (0, 0))
        hold(self, record.epoch >= epoch, "an epoch went back")
        hold(self, record.revision >= revision, "a revision went back")
        self._high[pet_id] = (record.epoch, record.revision)

    def restored(self, pet_id: str, record: Record) -> None:
        epoch, revision = self._high.get(pet_id, (0, 0))
        hold(self, record.epoch > epoch and record.revision > revision, "a restore did not fence what ran before")
        self.seen(pet_id, record)

    def forgotten(self, pet_id: str) -> None:
        """The id is as new: it expired unused, or a restored backup never knew it."""
        self._high.pop(pet_id, None)


class DeletionIsFinal:
    """A deleted pet's id is a tombstone for ever."""

    def __init__(self) -> None:
        self.buried: set[str] = set()

    def committed(self, commit: Commit, before: Record | None) -> None:
        hold(self, commit.pet_id not in self.buried or commit.after is None, "a deleted pet came back")
        if commit.after is None:
            self.buried.add(commit.pet_id)

    def found(self, pet_id: str, held: object) -> None:
        hold(self, isinstance(held, Tombstone), f"no tombstone of {pet_id}")


class LocalProgressIsKept:
    """What a host sends never overwrites a page's own life, unless the owner chose so. Snapshots never go back."""

    def page(self, before: "Disk", after: "Disk", *, chosen: bool) -> None:
        if before.mode == after.mode == "local" and not chosen:
            hold(self, after.save.startswith(before.save), "a page's own progress was overwritten")
        if before.mode == after.mode == "remote" and before.pet_id == after.pet_id and not chosen:
            hold(self, after.seen >= before.seen, "a checkpoint went back")
        if before.mode == "local" and after.mode == "remote" and not chosen:
            hold(self, set(marks_of(before.save)) <= set(marks_of(after.save)), "moving lost a page's progress")


class OneExecutor:
    """At most one place may change a pet, but for what an owner did knowingly.

    A pet is a *life*: a copy that its owner kept although the host knows it no more is another one.

    A page with a stop under way has been told that the host's copy may think on; a page whose pet another device took
    over is *overruled* until it hears of it. An operator's restore may have rewound whatever parked the pet for a page.
    """

    def __init__(self) -> None:
        self.overruled: set[str] = set()
        self.rewound: set[str] = set()

    def step(self, active: Iterable[tuple[str, str]], pages: Iterable["Browser"]) -> None:
        """`active` are the lives on the host, with their ids."""
        places = [*active, *((page.disk.life, page.name) for page in pages if self._counts(page))]
        lives = [life for life, _place in places]
        hold(self, len(set(lives)) == len(lives), f"a pet lives in two places: {places}")

    def _counts(self, page: "Browser") -> bool:
        return page.running and not page.disk.stops and not self.excused(page)

    def excused(self, page: "Browser") -> bool:
        return page.name in self.overruled or page.name in self.rewound

    def heard(self, page: "Browser") -> None:
        """The page knows where its pet lives again."""
        if page.disk.mode != "local" and page.disk.intent is None:
            self.overruled.discard(page.name)
            self.rewound.discard(page.name)


class Ledger:
    """The truth: every commit in order, with the checkers asked at each."""

    def __init__(self) -> None:
        self.records: dict[str, Record] = {}
        self.commits = 0
        self.kinds: set[str] = set()
        self.fences = FencedWritesAreRefused()
        self.once = NothingIsAppliedTwice()
        self.kept = NothingAcknowledgedIsLost()
        self.forward = RevisionsAndEpochsNeverGoBack()
        self.final = DeletionIsFinal()
        self.local = LocalProgressIsKept()
        self.one = OneExecutor()

    def committed(self, commit: Commit) -> None:
        before = self.records.get(commit.pet_id)
        for checker in (self.final, self.fences, self.once, self.kept, self.forward):
            checker.committed(commit, before)
        self.commits += 1
        self.kinds.add(type(commit.event).__name__)
        if commit.after is None:
            self.records.pop(commit.pet_id, None)
        else:
            self.records[commit.pet_id] = commit.after
        if isinstance(commit.event, Activate) and commit.event.takeover and before is not None:
            wanted = before.device_id
            if wanted is not None and wanted != commit.event.device_id:
                self.one.overruled.add(wanted)

    def expired(self, before_ms: int) -> None:
        for pet_id, record in list(self.records.items()):
            if record.status is Status.PREPARED and record.prepared_at_ms < before_ms:
                del self.records[pet_id]
                self.forward.forgotten(pet_id)

    def restored(self, store: "SimulatedStore", pet_ids: Iterable[str]) -> None:
        """An older backup was put in place: everybody is parked, beyond whatever ran since."""
        self.once.rewound()
        self.kinds.add("Restore")
        self.records.clear()
        for pet_id in pet_ids:
            held = store.load(pet_id)
            if isinstance(held, Record):
                hold(self.final, pet_id not in self.final.buried, "a restore brought a deleted pet back")
                hold(self.forward, held.status is Status.PARKED, "a restored pet is not parked")
                self.forward.restored(pet_id, held)
                self.records[pet_id] = held
            elif pet_id not in self.final.buried:
                self.forward.forgotten(pet_id)
        self.check_store(store)

    def check_store(self, store: "SimulatedStore") -> None:
        """The store holds what was committed, no less and no more."""
        for pet_id, record in self.records.items():
            self.kept.found(pet_id, store.load(pet_id), record)
        for pet_id in self.final.buried:
            self.final.found(pet_id, store.load(pet_id))

    def active(self) -> list[str]:
        return [pet_id for pet_id, record in self.records.items() if record.status is Status.ACTIVE]


class WhenFaultsStopAllSettles:
    """No wish, intent, stop or question is left; each pet lives in one place, and every page knows what is so."""

    def at_rest(self, world: "World") -> None:
        for page in world.pages:
            disk = page.disk
            hold(self, disk.intent is None, f"{page.name} still wants {disk.intent}")
            hold(self, not disk.stops, f"{page.name} still has stops")
            hold(self, not page.outbox, f"{page.name} still has wishes")
            hold(self, page.question == "", f"{page.name} still asks {page.question}")
            record = world.ledger.records.get(disk.pet_id)
            if disk.mode == "remote" and record is not None and not page.cut_off:
                hold(self, disk.save == record.save, f"{page.name} does not know how its pet is")
                hold(self, disk.life in world.lives_running(), f"nobody runs the pet of {page.name}")
        places = [*world.living(), *((page.disk.life, page.name) for page in world.pages if page.running)]
        rewound = world.ledger.one.rewound
        lives = [life for life, place in places if place not in rewound]
        hold(self, len(set(lives)) == len(lives), f"a pet still lives in two places: {places}")
