"""The world: two pages, a host, a network without promises, a clock that jumps, and the dice that move them.

`run_life(seed, steps, store)` is one life, reproducible from its seed; at its end the faults stop and all must settle.
"""

import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from sim_browser import Browser, Disk, Outside
from sim_host import Host
from sim_ledger import Ledger, WhenFaultsStopAllSettles
from sim_store import SimulatedStore
from sim_values import Answer, Request

MINUTE_MS, DAY_MS = 60_000, 86_400_000
STEP_MS = 5_000
HOST_SHARE_MAX = 16
MESSAGES_MAX = 40
SETTLE_ROUNDS_MAX = 60
TRACE_KEPT = 40


@dataclass(frozen=True, slots=True)
class Weather:
    """How bad a life is: chances per message or per step."""

    lose: float
    double: float
    kill: float
    disk: float
    jump: float
    cut: float

    @classmethod
    def drawn(cls, chance: random.Random) -> "Weather":
        def mostly_none(most: float) -> float:
            return chance.choice([0.0, most / 8, most / 3, most])

        return cls(
            lose=mostly_none(0.4), double=mostly_none(0.4), kill=mostly_none(0.05), disk=mostly_none(0.3),
            jump=mostly_none(0.05), cut=mostly_none(0.05),
        )  # fmt: skip


class World:
    """Everything in one life, and one method a kind of step."""

    def __init__(self, seed: int, store: SimulatedStore, page: type[Browser] = Browser) -> None:
        self.chance = random.Random(seed)  # noqa: S311 - a life, not a secret
        self.weather = Weather.drawn(self.chance)
        self.ledger = Ledger()
        self.host = Host(store, self.ledger, self.chance)
        self.pages = tuple(page(name, self._outside()) for name in ("alder", "birch"))
        self.messages: list[tuple[Request, Answer | None]] = []
        self.reachable = {page.name: True for page in self.pages}
        self.calm = False
        self.trace: deque[str] = deque(maxlen=TRACE_KEPT)
        self._names = 0
        self._lives: dict[str, str] = {}
        self.pages[0].adopt()

    # What pages ask of the world.

    def _outside(self) -> Outside:
        return Outside(self._name, self._send, self._wrote, self.ledger.kept.acknowledged)

    def _name(self, kind: str) -> str:
        self._names += 1
        return f"{kind[:1] if kind in ('alder', 'birch') else kind}{self._names}"

    def _send(self, request: Request) -> None:
        if request.pet_id:
            page = next(page for page in self.pages if page.name == request.sender)
            self._lives.setdefault(request.pet_id, page.disk.life)
        self._post(request, None)

    def _wrote(self, page: Browser, before: Disk, after: Disk, chosen: bool) -> None:
        self.ledger.local.page(before, after, chosen=chosen)
        if after.mode == "local":
            self.ledger.once.kept(after.save)
        self.ledger.one.heard(page)

    def living(self) -> list[tuple[str, str]]:
        """The lives that the host runs, with their ids."""
        return [(self._lives[pet_id], pet_id) for pet_id in self.ledger.active()]

    # The network.

    def _post(self, request: Request, answer: Answer | None) -> None:
        if not self.calm and self.chance.random() < self.weather.lose:
            return
        for _ in range(1 + (not self.calm and self.chance.random() < self.weather.double)):
            self.messages.append((request, answer))
        while len(self.messages) > MESSAGES_MAX and not self.calm:
            self.messages.pop(self.chance.randrange(len(self.messages)))

    def _deliver(self) -> None:
        at = 0 if self.calm else self.chance.randrange(len(self.messages))
        request, answer = self.messages.pop(at)
        if not self.reachable[request.sender]:
            return
        if answer is None:
            if self.host.alive:
                self.trace.append(f"host < {request.kind} of {request.sender} at {request.epoch}")
                self.host.receive(request)
            return
        self.trace.append(f"{request.sender} < {request.kind}: {answer.status} {answer.code} {answer.pet_status}")
        page = next(page for page in self.pages if page.name == request.sender)
        page.receive(request.number, answer)

    def _run_host(self) -> None:
        done = self.host.run_step()
        if done is not None:
            self._post(*done)

    # One step.

    def step(self) -> None:
        """Whatever the dice choose, then the invariants that hold at any moment."""
        self.host.now_ms += self.chance.randrange(2 * STEP_MS)
        self._misfortune()
        choices: list[Callable[[], None]] = [self._owner] * 2
        if self.messages:
            choices += [self._deliver] * 4
        if self.host.alive:
            choices.append(self._pet_lives)
            choices += [self._run_host] * min(2 * len(self.host.tasks), HOST_SHARE_MAX)
        self.chance.choice(choices)()
        self.ledger.one.step(self.living(), self.pages)

    def _misfortune(self) -> None:
        chance, weather, host = self.chance, self.weather, self.host
        if chance.random() < weather.kill:
            host.kill()
        elif not host.alive and chance.random() < 0.2:
            host.start()
        if chance.random() < weather.cut:
            name = chance.choice(list(self.reachable))
            self.reachable[name] = not self.reachable[name]
        if chance.random() < weather.jump:
            host.now_ms += chance.choice([-DAY_MS, -MINUTE_MS, MINUTE_MS, 2 * DAY_MS])
        host.disk_fails = weather.disk if chance.random() < 0.5 else 0.0
        if chance.random() < weather.kill / 20:
            self._restore()
        elif host.alive and chance.random() < weather.kill / 10:
            host.store.back_up()

    def _restore(self) -> None:
        """The operator puts an older backup in place. A page that runs a pet is excused: its parking may be rewound."""
        self.trace.append("a backup is restored")
        self.host.kill()
        self.host.store.restore(self.host.now_ms)
        self.ledger.restored(self.host.store, sorted(self._lives))
        self.ledger.one.rewound.update(page.name for page in self.pages if page.disk.mode == "local")
        self.host.alive = True

    def _pet_lives(self) -> None:
        active, chance, host = self.ledger.active(), self.chance, self.host
        if active:
            pet_id = chance.choice(active)
            choice = chance.random()
            if choice < 0.5:
                host.live(pet_id)
            elif choice < 0.75:
                host.think(pet_id)
            elif choice < 0.77:
                host.break_rules(pet_id)
        if host.thoughts and chance.random() < 0.5:
            host.hear(chance.choice(host.thoughts))
        if chance.random() < 0.1:
            host.keep_house()

    def _owner(self) -> None:
        page = self.chance.choice(self.pages)
        if self.chance.random() < 0.02:
            self.trace.append(f"{page.name} reloads")
            page.reload()
        acts = self._acts(page)
        if acts:
            act = self.chance.choice(acts)
            self.trace.append(f"{page.name}: {act.__name__} ({page.disk.mode})")
            act()

    def _acts(self, page: Browser) -> list[Callable[[], None]]:
        """What an owner may do on this page now, often things more often."""
        disk, rare = page.disk, self.chance.random()
        if page.question == "two_places":
            return [page.end_here, page.end_there] if rare < 0.3 else []
        if page.question == "lost":
            return [page.keep_as_another, page.let_go] if rare < 0.3 else []
        if disk.intent is not None:
            giving_up = [page.recover] if rare < 0.05 and disk.intent.kind in {"activate", "park"} else []
            return [page.retry, *giving_up] if rare < 0.3 else []
        if disk.mode == "empty":
            return self._cards_for(page)
        acts = [page.wish, page.wish] + ([page.retry] if rare < 0.3 else [])
        if disk.mode == "local":
            acts = [*acts, page.live] if rare < 0.5 else []
            acts += [] if disk.stops else [page.move_out]
            return acts + ([page.poll] if disk.pet_id and not disk.stops else [])
        acts += [page.poll, page.poll, page.come_home]
        if page.cut_off:
            acts += self._cards_for(page) + ([page.recover, page.let_go] if rare < 0.05 else [])
        elif page.elsewhere or page.status == "parked":
            acts += [page.take_over] if rare < 0.3 else []
        return acts + ([page.recover, page.change_key] if rare < 0.1 else []) + ([page.delete] if rare < 0.02 else [])

    def _cards_for(self, page: Browser) -> list[Callable[[], None]]:
        """The other device's card, if its pet was ever seen living on a host: a card is for a pet on a host."""
        other = self.pages[1 - self.pages.index(page)].disk
        if not other.pet_id or other.mode == "empty" or other.seen == (0, 0):
            return []

        def pair() -> None:
            page.pair(other)

        return [pair]

    # The end.

    def settle(self) -> None:
        """The faults stop: everything that was begun comes to an end, and then the last invariant is asked."""
        self.calm = True
        self.host.disk_fails = 0.0
        self.reachable = dict.fromkeys(self.reachable, True)
        if not self.host.alive:
            self.host.start()
        for _ in range(SETTLE_ROUNDS_MAX):
            before = self._picture()
            self._settle_round()
            if self._picture() == before:
                break
        for page in self.pages:
            self._bring_home(page)
        self.ledger.check_store(self.host.store)
        self.ledger.one.step(self.living(), self.pages)
        WhenFaultsStopAllSettles().at_rest(self)

    def _bring_home(self, page: Browser) -> None:
        """A pet that nobody runs is fetched by a page that knows it, or taken over where another device has let go."""
        if page.disk.mode != "remote" or page.disk.life in self.lives_running() or page.cut_off:
            return
        page.come_home()
        self._drain()
        if page.elsewhere:
            page.take_over()
            self._drain()
            page.poll()
            self._drain()

    def lives_running(self) -> set[str]:
        """The lives that something runs."""
        return {life for life, _pet_id in self.living()} | {page.disk.life for page in self.pages if page.running}

    def _picture(self) -> object:
        """What a settled world no longer changes. Epochs aside: asking whose the pet is may move them."""
        return [
            (page.disk, page.question, page.cut_off, tuple(page.outbox)) for page in self.pages
        ], self.ledger.commits

    def _settle_round(self) -> None:
        for page in self.pages:
            self._answer_page(page)
            page.retry()
            if page.disk.pet_id and not page.disk.stops and page.disk.intent is None:
                page.poll()
            self._drain()

    def _answer_page(self, page: Browser) -> None:
        """A decided owner: prefers the page's own life, and lets go of what is nowhere."""
        if page.question == "two_places":
            page.end_here()
        elif page.question == "lost":
            page.keep_as_another()
        elif page.cut_off and page.disk.mode == "remote" and page.disk.intent is None:
            page.let_go()

    def _drain(self) -> None:
        while self.messages or self.host.tasks:
            while self.messages:
                self._deliver()
            if self.host.tasks:
                self._run_host()


def run_life(seed: int, steps: int, store: SimulatedStore, page: type[Browser] = Browser) -> World:
    """One life of so many steps. Whatever goes wrong carries the seed and the last steps. `page` is who decides for the
    owners' pages."""
    world = World(seed, store, page)
    try:
        for _ in range(steps):
            world.step()
        world.settle()
    except BaseException as error:
        error.add_note(f"seed {seed}, weather {world.weather}; the last steps:\n  " + "\n  ".join(world.trace))
        raise
    finally:
        store.close()
    return world
