"""`tokenling talk`: a pet in this terminal, on the same engine and brain as anywhere else. No host, no network."""

import io
import os
import secrets
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NoReturn

import click

from tokenling.cli.brain_files import shipped_brain_dir
from tokenling.cli.brain_opening import BrainChoice, open_chosen
from tokenling.cli.console import refuse, tell
from tokenling.cli.lines import Lines
from tokenling.cli.pet_file import PetFile, held
from tokenling.cli.save_view import view_of
from tokenling.cli.talk_input import LINE_BYTES_MAX, Act, Catch, LineRefused, Quit, Show, Typed, Wait, parse_line
from tokenling.cli.talk_input import next_line as typed_line
from tokenling.cli.talk_life import MINUTE_MS, Life, OnPiece, Words, WordsFailed
from tokenling.cli.talk_screen import JsonScreen, TextScreen
from tokenling.engine import (
    PROMPT_VERSION,
    CommandRefused,
    GameResult,
    GenerationRequest,
    Reply,
    SaveRefused,
    State,
    body_clock_ms,
    due_ms,
    dump_save,
    game_of,
    hosting_of,
    load_save,
    new_pet,
    rehome,
)
from tokenling.engine.bounds import SAVE_BYTES_MAX
from tokenling.engine.zones import zone_keys
from tokenling.host.exits import ExitCode, HostRefused

NAME = "Pip"
EXIT_REFUSED = 1
EXIT_INTERRUPTED = 130
"""What shells give for SIGINT: 128 and its number."""
POLL_S_MAX = 60.0
"""At a terminal the clock is read this often, so that a sleep of the machine is noticed."""
THREADS_MAX = 4
"""As the host's default: a small brain gains nothing from more."""

Screens = TextScreen | JsonScreen


@click.command()
@click.option("--state", "path", type=click.Path(path_type=Path, dir_okay=False), help="The pet's file, a save.")
@click.option(
    "--brain", "brain_dir", type=click.Path(path_type=Path, file_okay=False), help="Instead of the shipped brain."
)
@click.option(
    "--import",
    "source",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A save to make another pet from, which then lives in --state; the save itself stays as it is.",
)
@click.option("--seed", type=click.IntRange(0, 2**53 - 1), help="What a new pet's character and chance are drawn from.")
@click.option("--name", default=None, help=f"A new pet's name.  [default: {NAME}]")
@click.option("--zone", default=None, help="A new pet's time zone.  [default: this machine's]")
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON, an object a line; take commands as JSON too.")
def talk(
    *,
    path: Path | None,
    brain_dir: Path | None,
    source: Path | None,
    seed: int | None,
    name: str | None,
    zone: str | None,
    as_json: bool,
) -> None:
    """Talk with a pet in this terminal: type to it; /help lists what else you can do.

    Standard input may be a file or a pipe. Exit codes: 0 done, 1 a line was refused or a turn got no words (input not
    from a terminal), 2 options, 3 brain, 4 the pet's file, 130 interrupted.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal that is not UTF-8
    try:
        with held(path or default_path()) as file:
            new = {"--seed": seed, "--name": name, "--zone": zone}
            found = read_pet(file, {**new, "--import": source})
            given = None if source is None else read_import(source, new)
            words = open_words(brain_dir or shipped_brain_dir())
            if given is not None:
                state = moved_in(given, words)
            else:
                state = at_home(found or born(seed=seed, name=name, zone=zone), words, file.path)
            file.keep(dump_save(state))
            sys.exit(run(Talk(state, words, file, as_json=as_json), words, newborn=(found or given) is None))
    except HostRefused as refused:
        refuse(refused.exit_code, refused.lines)
    except KeyboardInterrupt:
        click.echo("", err=True)
        sys.exit(EXIT_INTERRUPTED)


def default_path() -> Path:
    """The pet of this user."""
    from platformdirs import user_data_path

    return user_data_path("tokenling", appauthor=False) / "talk" / "pet.json"


# --- the brain -----------------------------------------------------------------------------------------------


class BrainWords:
    """Words from a lane of the runtime, in this thread."""

    def __init__(self, directory: Path) -> None:
        from tokenling.cli.hosting import available_cores
        from tokenling.runtime import open_lane

        self.brain = open_chosen(BrainChoice(directory, threads=min(THREADS_MAX, available_cores())))
        self._lane = open_lane(self.brain)
        self._lane.warm_up()

    def write(self, request: GenerationRequest, on_piece: OnPiece) -> Reply:
        from tokenling.runtime import BrainError, decode, plan_turn, reply_of

        try:
            return reply_of(decode(self._lane, plan_turn(request, self.brain), on_token=on_piece))
        except BrainError as error:
            raise WordsFailed(error.code) from None


def open_words(directory: Path) -> BrainWords:
    """The brain of a directory, once it wrote a token. Raises `HostRefused`."""
    from tokenling.runtime import BrainError, may_read_prompts

    try:
        words = BrainWords(directory)
    except BrainError as error:
        raise HostRefused(ExitCode.BRAIN, f"brain {directory}: {error}") from None
    if not may_read_prompts(words.brain.prompt_version, PROMPT_VERSION):
        found, expected = words.brain.prompt_version, PROMPT_VERSION
        raise HostRefused(ExitCode.BRAIN, f"brain {directory}: found prompt version {found}, expected {expected}")
    return words


# --- the pet -------------------------------------------------------------------------------------------------


def read_pet(file: PetFile, options: Mapping[str, object]) -> State | None:
    """The pet of the file, None when there is none yet; `options` are for a new one. Raises `HostRefused`."""
    data = file.load()
    if data is None:
        return None
    for option, value in options.items():
        if value is not None:
            refuse_option(option, f"a pet in {file.path}", "no pet there yet: this is for a new one")
    return pet_of(data, ExitCode.DATABASE, f"--state {file.path}")


def read_import(path: Path, options: Mapping[str, object]) -> State:
    """The pet that the save at `path` tells of; `options` are for one that is made of nothing. Raises `HostRefused`."""
    for option, value in options.items():
        if value is not None:
            refuse_option(option, "--import beside it", "one of the two: an imported pet brings its own")
    try:
        with path.open("rb") as source:
            data = source.read(SAVE_BYTES_MAX + 1)
    except OSError as error:
        refuse_option(f"--import {path}", (error.strerror or "an error").lower(), "a save that may be read")
    return pet_of(data, ExitCode.SETTINGS, f"--import {path}")


def pet_of(data: bytes, exit_code: ExitCode, subject: str) -> State:
    """The pet in the bytes of a save. Raises `HostRefused` naming where they were."""
    try:
        return load_save(data)
    except SaveRefused as refused:
        raise HostRefused(exit_code, f"{subject}: {refused}") from None


def born(*, seed: int | None, name: str | None, zone: str | None) -> State:
    """A new pet that has no brain yet; the same seed gives the same character, chance and weather."""
    pet_seed = secrets.token_hex(16) if seed is None else f"seed-{seed}"
    weather_seed = secrets.token_hex(16) if seed is None else f"sky-{seed}"
    try:
        return new_pet(
            pet_seed=pet_seed,
            name=NAME if name is None else name,
            time_zone=system_zone() if zone is None else zone,
            brain_id="",
            weather_seed=weather_seed,
            now_ms=now_ms(),
        )
    except CommandRefused as refused:
        option = {"/name": "--name", "/timeZone": "--zone"}[refused.path]
        refuse_option(
            option, f"what no pet may have ({refused.code})", "a name of 1 to 24 characters, a zone of tzdata"
        )


def at_home(state: State, words: BrainWords, path: Path) -> State:
    """The pet with this brain, its clock where it was, so that missed time is still lived. Raises `HostRefused`."""
    hosting = hosting_of(state)
    if hosting.mode == "remote":
        raise HostRefused(
            ExitCode.DATABASE,
            f"--state {path}: found a pet that lives on a host, expected a local one: bring it home on its page, or "
            f"make another pet from this save: tokenling talk --import {path} --state NEW_FILE",
        )
    if hosting.brain_id == words.brain.id:
        return state
    if hosting.brain_id and hosting.brain_id not in words.brain.succeeds:
        raise HostRefused(
            ExitCode.BRAIN,
            f"--brain: found {words.brain.id}, expected {hosting.brain_id}, the pet's, or a brain that succeeds it",
        )
    clock_ms = body_clock_ms(state)
    return rehome(state, mode="local", time_zone=hosting.time_zone, brain_id=words.brain.id, now_ms=clock_ms).state


def moved_in(given: State, words: BrainWords) -> State:
    """Another pet, like the one that was given: local, with this brain whichever it had, from now on."""
    hosting = hosting_of(given)
    if hosting.brain_id not in {"", words.brain.id}:
        tell([f"--import: this pet thought with {hosting.brain_id}; the one made of it thinks with {words.brain.id}"])
    return rehome(given, mode="local", time_zone=hosting.time_zone, brain_id=words.brain.id, now_ms=now_ms()).state


def refuse_option(option: str, found: str, expected: str) -> NoReturn:
    """End with a line about an option."""
    raise HostRefused(ExitCode.SETTINGS, f"{option}: found {found}, expected {expected}")


def system_zone() -> str:
    """This machine's time zone as a key of the pinned tzdata; UTC where it has none."""
    local = Path("/etc/localtime").resolve().as_posix().partition("/zoneinfo/")[2]
    found = (key for key in (os.environ.get("TZ", "").removeprefix(":"), local) if key in zone_keys())
    return next(found, "Etc/UTC")


def now_ms() -> int:
    """The wall clock."""
    return time.time_ns() // 1_000_000


# --- the talk ------------------------------------------------------------------------------------------------


class Talk:
    """A pet's life and where it is told. `/wait` moves the talk's own clock ahead of the wall's."""

    def __init__(
        self,
        state: State,
        words: Words,
        file: PetFile,
        *,
        as_json: bool,
        clock: Callable[[], int] = now_ms,
    ) -> None:
        self.as_json = as_json
        self.file = file
        self.screen: Screens = (
            JsonScreen() if as_json else TextScreen(lambda: view_of(self.life.state).text("name"), bar=_is_terminal(2))
        )
        self.life = Life(state, words, self.screen, file.keep)
        self.refused = 0
        self._lines = 0
        self._clock = clock
        self._ahead_ms = 0

    def now_ms(self) -> int:
        """The talk's time."""
        return self._clock() + self._ahead_ms

    def take(self, line: str) -> bool:
        """One line done; False for the last one."""
        self._lines += 1
        try:
            typed = parse_line(line, may_be_json=self.as_json)
            if isinstance(typed, Quit):
                return False
            if typed is not None:
                self._do(typed)
        except LineRefused as refused:
            self.refuse(refused.code, refused.expected)
        except CommandRefused as refused:
            self.refuse(refused.code, f"at {refused.path or 'the whole line'}")
        return True

    def refuse(self, code: str, detail: str) -> None:
        """A line could not be done; the talk goes on."""
        self.refused += 1
        self.screen.refused(self._lines, code, detail)

    def _do(self, typed: Typed) -> None:
        match typed:
            case Act(command):
                self.life.act(command, self.now_ms())
            case Catch(score):
                game = game_of(self.life.state) or {"id": "none"}
                self.life.act(GameResult(str(game["id"]), score), self.now_ms())
            case Wait(minutes):
                self.life.live(self.now_ms())
                self._ahead_ms += minutes * MINUTE_MS
                self.life.catch_up(self.now_ms())
            case Show(what, count):
                self.life.live(self.now_ms())
                self.screen.shown(what, view_of(self.life.state), count)


def run(talk: Talk, words: BrainWords, *, newborn: bool) -> int:
    """The whole talk; its exit code."""
    talk.screen.met(view_of(talk.life.state), file=str(talk.file.path), brain_id=words.brain.id, newborn=newborn)
    talk.life.catch_up(talk.now_ms())
    talk.life.arrive(talk.now_ms())
    at_terminal = _is_terminal(0)
    lines = Lines(sys.stdin.buffer, LINE_BYTES_MAX)
    goes_on = True
    while goes_on:
        try:
            line = next_line(talk, lines, at_terminal=at_terminal)
        except EOFError:
            break
        except LineRefused as refused:
            talk.take("")
            talk.refuse(refused.code, refused.expected)
            continue
        goes_on = talk.take(line)
    failed = talk.refused + talk.life.failures
    return EXIT_REFUSED if failed and not at_terminal else 0


def next_line(talk: Talk, lines: Lines, *, at_terminal: bool) -> str:
    """The next line; at a terminal the pet lives on while nothing is typed. Raises `EOFError`, `LineRefused`."""
    while True:
        if at_terminal:
            talk.screen.prompt()
        line = typed_line(lines, until_due_s(talk) if at_terminal else None)
        if line is not None:
            talk.screen.entered()
            return line
        talk.life.catch_up(talk.now_ms())


def until_due_s(talk: Talk) -> float:
    """How long nothing visible happens, and a little more so that it surely is due then."""
    return min(POLL_S_MAX, max(0, due_ms(talk.life.state) - talk.now_ms()) / 1000 + 0.05)


def _is_terminal(descriptor: int) -> bool:
    try:
        return os.isatty(descriptor)
    except OSError:
        return False
