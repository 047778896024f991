"""The page's side of ownership, as a pure model of design sections 6 and 7: what it keeps, sends and concludes.

`Disk` is what survives a reload and changes in transactions; everything else of a page is gone with it. An intent is
on the disk before its request leaves, and a request is repeated under the same operation id until something definite
is answered. A page never learns a destination device from a view: only the refusal `other_device` tells it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from sim_values import Answer, Request, with_mark

DELIVERED = {200, 404, 410}
"""Answers that deliver a stop."""


@dataclass(frozen=True, slots=True)
class Intent:
    """What the page set out to do and must bring to an end: activate, park, key or delete."""

    kind: str
    operation_id: str
    epoch: int
    save: bytes = b""
    takeover: bool = False
    explicit: bool = False
    wish: str = ""


@dataclass(frozen=True, slots=True)
class Stop:
    """A park that must reach a host some day: the owner recovered the pet without it."""

    pet_id: str
    key: str
    epoch: int
    operation_id: str


@dataclass(frozen=True, slots=True)
class Disk:
    """`mode` is empty, local or remote; `save` the pet's life, or in remote mode the checkpoint seen at `seen`."""

    mode: str = "empty"
    save: bytes = b""
    pet_id: str = ""
    key: str = ""
    epoch: int = 0
    seen: tuple[int, int] = (0, 0)
    intent: Intent | None = None
    stops: tuple[Stop, ...] = ()
    explicit: bool = False
    """The owner was told that progress on the host may be missing here."""
    life: str = ""
    """Which pet this is (for the checkers): a copy that its host knows no more goes on as another one."""


@dataclass(slots=True)
class Outside:
    """What a page needs of the world: ids, marks, a way to send, and whoever checks its transactions."""

    name_new: Callable[[str], str]
    send: Callable[[Request], None]
    wrote: Callable[["Browser", Disk, Disk, bool], None]
    told: Callable[[Request], None]


@dataclass(slots=True)
class Browser:
    """One device's page. `question` is what it asks its owner: two_places (and `told_epoch` there) or lost."""

    name: str
    outside: Outside
    disk: Disk = field(default_factory=Disk)
    outbox: dict[str, Request] = field(default_factory=dict)
    sent: dict[int, Request] = field(default_factory=dict)
    question: str = ""
    told_epoch: int = 0
    status: str = ""
    elsewhere: bool = False
    cut_off: bool = False
    seen_by: int = 0
    """The number of the first request that was sent after the checkpoint was here."""

    @property
    def running(self) -> bool:
        """Whether this page's executor may change the pet: never once a transfer intent is on the disk."""
        return self.disk.mode == "local" and self.disk.intent is None

    def reload(self) -> None:
        """The page is closed and opened again."""
        self.outbox.clear()
        self.sent.clear()
        self.question, self.status, self.elsewhere, self.cut_off = "", "", False, False

    def write(self, disk: Disk, *, chosen: bool = False) -> None:
        before, self.disk = self.disk, disk
        self.outside.wrote(self, before, disk, chosen)

    # What the owner does.

    def adopt(self) -> None:
        self.write(Disk("local", self.outside.name_new("a").encode(), life=self.outside.name_new("life-")))

    def live(self) -> None:
        self.write(replace(self.disk, save=with_mark(self.disk.save, self.outside.name_new(self.name))))

    def wish(self) -> None:
        mark = self.outside.name_new("c")
        if self.disk.mode == "local":
            self.write(replace(self.disk, save=with_mark(self.disk.save, mark)))
            return
        request = self._request("command", operation_id=self._operation(), epoch=self.disk.epoch, wish=mark)
        self.outbox[request.operation_id] = request
        self._send(request)

    def poll(self) -> None:
        self._send(self._request("view"))

    def move_out(self) -> None:
        """Prepare first: it tells what stands there, and never overwrites it."""
        if not self.disk.pet_id:
            name = self.outside.name_new
            self.write(replace(self.disk, pet_id=name("pet-"), key=name("key-"), epoch=1))
        self._send(self._request("prepare", save=self.disk.save))

    def come_home(self) -> None:
        self._intend(Intent("park", self._operation(), self.disk.epoch))

    def take_over(self) -> None:
        """The owner overrules the device that the pet was parked for."""
        intent = Intent(
            "activate", self._operation(), self.disk.epoch, self.disk.save, takeover=self.elsewhere, explicit=True
        )
        self.elsewhere = False
        self._intend(intent)

    def change_key(self) -> None:
        self._intend(Intent("key", self._operation(), self.disk.epoch, wish=self.outside.name_new("key-")))

    def delete(self) -> None:
        self._intend(Intent("delete", "", self.disk.epoch))

    def recover(self) -> None:
        """The host cannot be reached: live on from what is here, and stop the host's copy when it can be."""
        disk = self.disk
        epoch = disk.epoch if disk.intent is None else disk.intent.epoch
        stop = Stop(disk.pet_id, disk.key, epoch, self._operation())
        self.question = ""
        self.write(replace(disk, mode="local", intent=None, stops=(*disk.stops, stop), explicit=True))
        self.retry()

    def pair(self, card: Disk) -> None:
        """Scan another device's card; a page that was cut off keeps what it has seen."""
        self.cut_off = False
        seen = self.disk.seen if card.pet_id == self.disk.pet_id else (0, 0)
        known = replace(
            self.disk, mode="remote", pet_id=card.pet_id, key=card.key, seen=seen, intent=None, life=card.life
        )
        self.write(known, chosen=True)
        self.poll()

    def let_go(self) -> None:
        self.cut_off, self.question = False, ""
        self.write(Disk(stops=self.disk.stops), chosen=True)

    def keep_as_another(self) -> None:
        """The host knows this pet no more, or under another key: the owner keeps the copy, as a pet of its own."""
        self.question = ""
        self.write(self._as_another(self.disk))

    def _as_another(self, disk: Disk) -> Disk:
        life = self.outside.name_new("life-")
        return replace(disk, pet_id="", key="", epoch=0, seen=(0, 0), intent=None, life=life)

    def end_here(self) -> None:
        """The owner keeps the other copy."""
        self.question = ""
        stops = tuple(stop for stop in self.disk.stops if stop.pet_id != self.disk.pet_id)
        self.write(
            replace(self.disk, mode="remote", intent=None, stops=stops, seen=(0, 0), explicit=False), chosen=True
        )
        self.poll()

    def end_there(self) -> None:
        """The owner keeps this copy: the other is stopped under the epoch that was told."""
        self.question = ""
        stop = Stop(self.disk.pet_id, self.disk.key, self.told_epoch, self._operation())
        others = tuple(one for one in self.disk.stops if one.pet_id != self.disk.pet_id)
        self.write(replace(self.disk, intent=None, stops=(*others, stop), explicit=True))
        self.retry()

    # What the page sends.

    def retry(self) -> None:
        """Repeat whatever has no definite answer yet."""
        disk = self.disk
        if disk.intent is not None and not self.question:
            self._send(self._of_intent(disk.intent))
        for stop in disk.stops:
            request = self._request("park", operation_id=stop.operation_id, epoch=stop.epoch)
            self._send(replace(request, pet_id=stop.pet_id, key=stop.key))
        for request in list(self.outbox.values()):
            self._send(replace(request, number=int(self.outside.name_new(""))))

    def _intend(self, intent: Intent) -> None:
        self.write(replace(self.disk, intent=intent))
        self._send(self._of_intent(intent))

    def _of_intent(self, intent: Intent) -> Request:
        return self._request(
            intent.kind, operation_id=intent.operation_id, epoch=intent.epoch, save=intent.save,
            takeover=intent.takeover, explicit=intent.explicit, wish=intent.wish,
        )  # fmt: skip

    def _request(self, kind: str, **fields: object) -> Request:
        number = int(self.outside.name_new(""))
        return Request(number, self.name, kind, self.disk.pet_id, self.disk.key, **fields)  # type: ignore[arg-type]

    def _operation(self) -> str:
        return self.outside.name_new("op-")

    def _send(self, request: Request) -> None:
        self.sent[request.number] = request
        self.outside.send(request)

    # What it concludes from an answer.

    def receive(self, number: int, answer: Answer) -> None:
        request = self.sent.get(number)
        if request is None or answer.status == 503:
            return  # of a page that is gone; or nobody knows: the same operation id is sent again
        stop = next((one for one in self.disk.stops if one.operation_id == request.operation_id), None)
        if stop is not None:
            self._stop_answered(stop, answer)
        elif request.kind == "command":
            self._wish_answered(request, answer)
        elif request.pet_id == self.disk.pet_id:
            self._answered(request, answer)

    def _answered(self, request: Request, answer: Answer) -> None:
        intent = self.disk.intent
        if request.kind == "view":
            self._viewed(request, answer)
        elif request.kind == "prepare":
            self._prepared(answer)
        elif intent is not None and (intent.kind, intent.operation_id) == (request.kind, request.operation_id):
            conclude = {
                "activate": self._activated,
                "park": self._parked,
                "key": self._rekeyed,
                "delete": self._deleted,
            }
            conclude[intent.kind](intent, answer)

    def _wish_answered(self, request: Request, answer: Answer) -> None:
        if self.outbox.pop(request.operation_id, None) is not None and answer.status == 200:
            self.outside.told(request)

    def _prepared(self, answer: Answer) -> None:
        disk = self.disk
        if disk.mode != "local":
            return
        forgotten = answer.epoch < (disk.epoch if disk.intent is None else disk.intent.epoch)
        if answer.code in {"id_taken", "pet_deleted"} or (answer.status in {200, 201} and forgotten):
            self.question = "lost"
        elif answer.status not in {200, 201}:
            return
        elif disk.intent is not None:
            self._send(self._of_intent(disk.intent))  # its prepared record had expired
        elif not disk.stops:
            self._ready_there(answer)

    def _ready_there(self, answer: Answer) -> None:
        if answer.pet_status == "active":
            self._ask_two_places(answer.epoch)
        elif answer.pet_status == "quarantined":
            self.told_epoch = answer.epoch
            self.end_there()
        else:
            disk = self.disk
            self._intend(Intent("activate", self._operation(), answer.epoch, disk.save, explicit=disk.explicit))

    def _activated(self, intent: Intent, answer: Answer) -> None:
        disk = self.disk
        if answer.status == 200:
            seen = (answer.epoch, answer.revision)
            # what was seen of another stay on a host says nothing of this one
            new = disk.mode == "local" or seen >= disk.seen
            newer = replace(disk, save=answer.save, seen=seen, epoch=answer.epoch) if new else disk
            self.status = "active"
            self.write(replace(newer, mode="remote", intent=None, explicit=False))
        elif disk.mode == "remote":
            self.cut_off = self.cut_off or answer.status == 404
            self.write(replace(disk, intent=None))
        elif answer.status == 404:
            self._send(self._request("prepare", save=intent.save))
        elif answer.pet_status == "active":
            self._ask_two_places(answer.epoch)
        elif answer.code == "other_device":
            self.end_here()
        elif 0 < answer.epoch < intent.epoch:
            self.question = "lost"
        else:
            self._send(self._request("view"))

    def _parked(self, intent: Intent, answer: Answer) -> None:
        disk = replace(self.disk, intent=None)
        if answer.status == 200 and disk.mode == "remote":
            assert answer.device_id == self.name, "a park is answered to the device it is for"
            home = replace(disk, mode="local", save=answer.save, epoch=answer.epoch)
            self.write(replace(home, seen=(answer.epoch, answer.revision), explicit=False))
            return
        self.cut_off = self.cut_off or answer.status == 404
        self.elsewhere = answer.code == "other_device"
        self.write(disk)

    def _rekeyed(self, intent: Intent, answer: Answer) -> None:
        disk = replace(self.disk, intent=None)
        if answer.status == 200:
            self.write(replace(disk, key=intent.wish))
        elif answer.status == 404:  # changed already, its answer lost: then the new key fits
            self._send(replace(self._request("view"), key=intent.wish))
        else:
            self.write(disk)

    def _deleted(self, intent: Intent, answer: Answer) -> None:
        if answer.status in {204, 404, 410}:
            self.write(Disk(stops=self.disk.stops), chosen=True)

    def _viewed(self, request: Request, answer: Answer) -> None:
        disk = self.disk
        if disk.intent is not None and disk.intent.kind == "key":
            if request.key == disk.intent.wish:
                self.cut_off = answer.status == 404
                key = request.key if answer.status == 200 else disk.key
                self.write(replace(disk, intent=None, key=key))
        elif answer.status == 404:
            self.cut_off = self.cut_off or (disk.mode == "remote" and request.key == disk.key)
        elif disk.mode == "remote":
            self._update_checkpoint(request, answer)
        elif disk.mode == "local":
            self._look_around(answer)

    def _update_checkpoint(self, request: Request, answer: Answer) -> None:
        """An older snapshot is ignored: unless it was asked for after the newer one was here, for then the host itself
        went back (an old backup, the id prepared anew)."""
        seen = (answer.epoch, answer.revision)
        went_back = seen < self.disk.seen and request.number > self.seen_by
        if seen >= self.disk.seen or went_back:
            self.status = answer.pet_status
            self.seen_by = int(self.outside.name_new(""))
            known = replace(self.disk, save=answer.save, seen=seen, epoch=answer.epoch)
            self.write(known, chosen=went_back)

    def _look_around(self, answer: Answer) -> None:
        """A page that runs its pet, or cannot hand it over, sees that the host has another epoch, or runs it."""
        intent = self.disk.intent
        known = self.disk.epoch if intent is None else intent.epoch
        moved_on = answer.epoch > known or (answer.pet_status == "active" and answer.epoch == known and intent is None)
        if moved_on and not self.disk.stops:
            self._ask_two_places(answer.epoch)

    def _stop_answered(self, stop: Stop, answer: Answer) -> None:
        disk = self.disk
        left = tuple(one for one in disk.stops if one is not stop)
        same = stop.pet_id == disk.pet_id and disk.mode == "local"
        if answer.status in DELIVERED:
            done = replace(disk, stops=left)  # its save never overwrites what was lived here
            if same:
                done = replace(done, epoch=answer.epoch) if answer.status == 200 else self._as_another(done)
            self.write(done)
        elif answer.pet_status == "active" and same:
            self._ask_two_places(answer.epoch)
        elif answer.code == "other_device" or not same:
            self.write(replace(disk, stops=left))
            if same:
                self.end_here()
        elif answer.epoch:  # parked or prepared under another epoch: whether for this device, the next answer tells
            again = replace(stop, epoch=answer.epoch, operation_id=self._operation())
            self.write(replace(disk, stops=(*left, again)))

    def _ask_two_places(self, epoch: int) -> None:
        self.question, self.told_epoch = "two_places", epoch
