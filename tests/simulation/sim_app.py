"""The browser app's own decisions in place of the pages' model: `tokenling/web/src/home`, run by node.

`AppPage` has the interface of `Browser`, so the world and its checkers stay as they are. Each act and each answer goes
to the app's pure functions with the row that is on the page's disk, and the row that comes back is what is on the disk
then; `Disk` is only drawn from it. What is a shell in the app (which request goes out, which question is open) is as
thin here as there. Wishes stay the model's: their outbox decides nothing.
"""

import json
import shutil
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from sim_browser import Browser, Disk, Intent, Outside, Stop
from sim_values import Answer, Request, with_mark

WEB = Path(__file__).parents[2] / "tokenling" / "web"
SERVER = "tests/home/decisions_server.ts"
Row = dict[str, Any]


class Decisions:
    """The app's decisions, as a node process. `ask` is a pure function."""

    def __init__(self) -> None:
        script = subprocess.run(
            ["npx", "esbuild", SERVER, "--bundle", "--format=esm", "--platform=node", "--log-level=warning"],
            cwd=WEB, check=True, capture_output=True, text=True,
        ).stdout  # fmt: skip
        command = ["node", "--input-type=module", "--eval", script]
        self._node = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def ask(self, act: str, row: Row, name: str, count: int, given: dict[str, Any]) -> dict[str, Any]:
        assert self._node.stdin is not None
        assert self._node.stdout is not None
        line = {"act": act, "row": row, "name": name, "count": count, "given": given}
        self._node.stdin.write(json.dumps(line) + "\n")
        self._node.stdin.flush()
        answer: dict[str, Any] = json.loads(self._node.stdout.readline())
        return answer


@cache
def decisions() -> Decisions:
    return Decisions()


def can_run() -> bool:
    """Whether node and the app's own tools are here."""
    return shutil.which("node") is not None and (WEB / "node_modules" / "esbuild").is_dir()


def wire_save(save: bytes) -> dict[str, str]:
    return {"marks": save.decode()}


def marks(save: dict[str, str]) -> bytes:
    return save["marks"].encode()


def wire_answer(answer: Answer) -> dict[str, Any]:
    failed = answer.status >= 400
    return {
        "status": answer.status, "code": answer.code, "epoch": answer.epoch, "revision": answer.revision,
        "petStatus": answer.pet_status, "save": None if failed or not answer.save else wire_save(answer.save),
        "serverTime": None, "fields": {},
    }  # fmt: skip


class AppPage(Browser):
    """A page that decides as the app does."""

    def __init__(self, name: str, outside: Outside) -> None:
        super().__init__(name, outside)
        self.row: Row = {
            "localId": "pip", "deviceId": name, "kept": None, "entry": None, "stops": [], "outbox": None,
        }  # fmt: skip
        self._count = 0
        self._running = False
        self._wanted: dict[str, Any] | None = None
        self._meant: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}
        self._told: dict[str, Any] | None = None
        self._asking_stop = ""
        self._explicit = False
        self._life = ""
        self._pairing: tuple[int, Disk] | None = None

    @property
    def running(self) -> bool:
        return self._running

    def reload(self) -> None:
        super().reload()
        self._meant.clear()
        self._told, self._pairing, self._asking_stop = None, None, ""

    # The disk.

    def _decide(self, act: str, *, chosen: bool = False, life: str = "", **given: Any) -> Any:
        """Ask the app, store what it decided, and give back what it would do then."""
        answer = decisions().ask(act, self.row, self.name, self._count, given)
        assert "refused" not in answer, f"{act} was refused: {answer}"
        self._count = answer["count"]
        before, self.row = self.row, answer["row"]
        seen = answer["seen"]
        self._running, self._wanted = seen["running"], seen["request"]
        if _intent_id(before) != _intent_id(self.row) or not self._stop(self._asking_stop):
            self._forget_question(only_stop=_intent_id(before) == _intent_id(self.row))
        disk = self._drawn(seen, life)
        if disk != self.disk:
            self.write(disk, chosen=chosen)
        return answer["then"]

    def _forget_question(self, *, only_stop: bool) -> None:
        if only_stop and not self._asking_stop:
            return
        self.question, self._told, self._asking_stop = "", None, ""

    def _drawn(self, seen: dict[str, Any], life: str) -> Disk:
        entry, kept = self.row["entry"] or {}, self.row["kept"]
        stops = tuple(Stop(one["id"], one["key"], one["epoch"], one["operationId"]) for one in self.row["stops"])
        if kept is None:
            self._life = ""
            return Disk(stops=stops)
        newest = kept["checkpoints"][0]
        pet_id = entry.get("id", "")
        if life:
            self._life = life
        elif self.disk.pet_id and not pet_id:
            self._life = self.outside.name_new("life-")
        stamp = (newest["epoch"], newest["revision"]) if seen["living"] else (0, 0)
        return Disk(
            seen["mode"], marks(newest["save"]), pet_id, entry.get("key", ""), entry.get("epoch", 0), stamp,
            self._drawn_intent(entry), stops, self._explicit, self._life,
        )  # fmt: skip

    def _drawn_intent(self, entry: Row) -> Intent | None:
        intent = entry.get("intent")
        if intent is None or intent["step"] == "prepare":
            return None
        kind = {"resume": "activate"}.get(intent["step"], intent["step"])
        return Intent(kind, intent["operationId"], intent["epoch"])

    def _stop(self, stop_id: str) -> Row | None:
        return next((one for one in self.row["stops"] if one["stopId"] == stop_id), None)

    # What the owner does.

    def adopt(self) -> None:
        save = wire_save(self.outside.name_new("a").encode())
        self._decide("adopt", life=self.outside.name_new("life-"), save=save)

    def live(self) -> None:
        self._decide("live", save=wire_save(with_mark(self.disk.save, self.outside.name_new(self.name))))

    def wish(self) -> None:
        if self.disk.mode == "local":
            self._decide("live", save=wire_save(with_mark(self.disk.save, self.outside.name_new("c"))))
        else:
            super().wish()

    def move_out(self) -> None:
        self._decide("move_out")
        self._send_intent()

    def come_home(self) -> None:
        self._decide("come_home")
        self._send_intent()

    def take_over(self) -> None:
        takeover, self.elsewhere = self.elsewhere, False
        self._decide("resume", takeover=takeover)
        self._send_intent(explicit=True)

    def change_key(self) -> None:
        self._decide("change_key")
        self._send_intent()

    def delete(self) -> None:
        self._decide("remove", chosen=True)
        self._send_intent()

    def recover(self) -> None:
        self._explicit = True
        self._decide("recover")
        self.retry()

    def pair(self, card: Disk) -> None:
        request = replace(self._blank("view"), pet_id=card.pet_id, key=card.key)
        self._pairing = (request.number, card)
        self._send(request)

    def let_go(self) -> None:
        self.cut_off = False
        self._forget_question(only_stop=False)
        self._explicit = False
        self._decide("forget", chosen=True)

    def keep_as_another(self) -> None:
        told, self.cut_off = self._told, False
        self._forget_question(only_stop=False)
        if told is None:
            self._decide("as_another")
        else:
            self._decide("resolved", told=told, keep="another")

    def end_here(self) -> None:
        self._explicit = False
        self._resolve("there")
        self.poll()

    def end_there(self) -> None:
        self._explicit = True
        self._resolve("here")
        self.retry()

    def _resolve(self, keep: str) -> None:
        told, stop = self._told, self._stop(self._asking_stop)
        assert told is not None, "a question rests on what was told"
        self._forget_question(only_stop=False)
        if stop is not None:
            self._decide("stop_resolved", chosen=keep == "there", stop=stop, told=told, keep=keep)
        else:
            self._decide("resolved", chosen=keep == "there", told=told, keep=keep)

    # What the page sends.

    def retry(self) -> None:
        if self.row["entry"] is not None and self.row["entry"]["intent"] is not None and not self.question:
            self._send_intent()
        for stop in self.row["stops"]:
            self._send_stop(stop)
        for request in list(self.outbox.values()):
            self._send(replace(request, number=int(self.outside.name_new(""))))

    def _send_stop(self, stop: Row) -> None:
        kind = "delete" if stop["kind"] == "delete" else "park"
        request = replace(self._blank(kind), operation_id=stop["operationId"], epoch=stop["epoch"])
        self._send(replace(request, pet_id=stop["id"], key=stop["key"]))

    def _send_intent(self, asked: dict[str, Any] | None = None, *, explicit: bool = False) -> None:
        """Sends what the stored intent stands for, or what a conclusion asks for first."""
        entry, request = self.row["entry"], asked or self._wanted
        if entry is None or entry["intent"] is None or request is None:
            return
        made = self._made(request, explicit=explicit or self._explicit)
        self._meant[made.number] = (entry["intent"], request)
        self._send(made)

    def _made(self, wire: dict[str, Any], *, explicit: bool) -> Request:
        kind = wire["kind"]
        if kind == "transfer":
            kind = "activate" if wire["to"] == "remote" else "park"
        return replace(
            self._blank(kind), key=wire.get("key", self.row["entry"]["key"]),
            operation_id=wire.get("operationId", ""), epoch=wire.get("epoch", 0),
            save=marks(wire["save"]) if "save" in wire else b"", takeover=wire.get("takeover", False),
            explicit=explicit and kind == "activate", wish=wire.get("newKey", ""),
        )  # fmt: skip

    def _blank(self, kind: str) -> Request:
        number = int(self.outside.name_new(""))
        return Request(number, self.name, kind, self.disk.pet_id, self.disk.key)

    # What it concludes from an answer.

    def receive(self, number: int, answer: Answer) -> None:
        request = self.sent.get(number)
        if request is None or answer.status == 503:
            return
        stop = next((one for one in self.row["stops"] if self._is_of(one, request)), None)
        if self._pairing is not None and self._pairing[0] == number:
            self._paired(request, answer)
        elif stop is not None:
            self._stop_heard(stop, answer)
        elif request.kind == "command":
            self._wish_answered(request, answer)
        elif number in self._meant:
            self._concluded(request, *self._meant[number], answer)
        elif request.kind == "view" and request.pet_id == self.disk.pet_id:
            self._view_heard(request, answer)

    def _is_of(self, stop: Row, request: Request) -> bool:
        if stop["kind"] == "delete":
            return request.kind == "delete" and (request.pet_id, request.key) == (stop["id"], stop["key"])
        return request.kind == "park" and stop["operationId"] == request.operation_id

    def _paired(self, request: Request, answer: Answer) -> None:
        assert self._pairing is not None
        card, self._pairing = self._pairing[1], None
        if answer.status != 200 or answer.pet_status == "prepared":
            return
        self.cut_off = False
        if self.disk.pet_id == request.pet_id:
            self._decide("rekey", chosen=True, key=request.key)
            self.poll()
        elif self.disk.mode in {"empty", "remote"}:
            view = {"atMs": 0, "epoch": answer.epoch, "revision": answer.revision, "save": wire_save(answer.save)}
            given = {"view": view, "card": {"id": request.pet_id, "key": request.key}}
            self._decide("join", chosen=True, life=card.life, **given)
            self.seen_by = int(self.outside.name_new(""))

    def _stop_heard(self, stop: Row, answer: Answer) -> None:
        then = self._decide("stop_answered", stop=stop, answer=wire_answer(answer))
        if then["kind"] == "asks":
            self._ask(then["told"], stop["stopId"])
        elif then["kind"] == "again":
            again = self._stop(stop["stopId"])
            assert again is not None, "what is sent again is still stored"
            self._send_stop(again)

    def _concluded(self, request: Request, intent: Row, wire: Row, answer: Answer) -> None:
        stops = len(self.row["stops"])
        if answer.status == 200 and request.kind in ("activate", "park") and self._is_stored(intent):
            self._explicit = False
        then = self._decide(
            "conclude", chosen=request.kind == "delete", intent=intent, request=wire, answer=wire_answer(answer)
        )
        self._explicit = self._explicit or len(self.row["stops"]) > stops  # a quarantined copy is stopped
        kind = then["kind"]
        if request.kind == "park":
            self.elsewhere = kind == "problem" and then["code"] == "other_device"
        if kind == "question":
            self._ask(then["question"], "")
        elif kind == "ask":
            self._send_intent(then["request"])
        elif kind == "next":
            self._send_intent()
        elif kind == "gone":
            self.cut_off = True
        elif request.kind == "activate" and answer.status == 200:
            self.status = "active"

    def _is_stored(self, intent: Row) -> bool:
        entry = self.row["entry"]
        return entry is not None and entry["intent"] is not None and _intent_id(self.row) == intent["operationId"]

    def _ask(self, told: Row, stop_id: str) -> None:
        self.question, self._told, self._asking_stop = told["kind"], told, stop_id

    def _view_heard(self, request: Request, answer: Answer) -> None:
        disk = self.disk
        if answer.status == 404:
            self.cut_off = self.cut_off or (disk.mode == "remote" and request.key == disk.key)
        elif disk.mode == "remote":
            self._snapshot(request, answer)
        elif disk.mode == "local":
            told = self._decide("look", answer=wire_answer(answer))
            if told is not None and not self.question:
                self._ask(told, "")

    def _snapshot(self, request: Request, answer: Answer) -> None:
        view = {"atMs": 0, "epoch": answer.epoch, "revision": answer.revision, "save": wire_save(answer.save)}
        after = request.number > self.seen_by
        newest = self.row["kept"]["checkpoints"][0]
        back = after and (answer.epoch, answer.revision) < (newest["epoch"], newest["revision"])
        age = self._decide("snapshot", chosen=back, view=view, after=after)
        if age != "older":
            self.status = answer.pet_status
            self.seen_by = int(self.outside.name_new(""))


def _intent_id(row: Row) -> str | None:
    intent = (row["entry"] or {}).get("intent")
    return None if intent is None else intent["operationId"]
