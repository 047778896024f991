"""`tokenling model chat`: a conversation with a model in this terminal."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokenling.cli.console import refuse, tell
from tokenling.cli.lines import Lines
from tokenling.cli.model import chat_lines
from tokenling.cli.model.chat_lines import ChatLineRefused, Do, Say, next_line, parse_line
from tokenling.cli.model.chat_screen import JsonScreen, TextScreen, show_prompt
from tokenling.cli.model.exits import ModelExit, hint, refusals, refuse_option
from tokenling.cli.model.input import TEXT_BYTES_MAX
from tokenling.cli.model.interrupting import Interrupts, interrupts_taken
from tokenling.cli.model.loading import Ahead, Loaded, Texts, load, opened_texts
from tokenling.cli.model.options import (
    cache_option,
    context_option,
    file_argument,
    json_option,
    numerics_option,
    sampling_options,
    system_option,
    threads_option,
)
from tokenling.cli.model.output import prepare_output, put_new
from tokenling.cli.model.run import check_stops, sampling_of

if TYPE_CHECKING:
    from tokenling.gguf import Chat, ChatTurn, Wanted
    from tokenling.gguf.chat import Message
    from tokenling.runtime import Numerics

NEW_TOKENS = 1024
"""A reply's at most when nothing is asked for."""
SEED_END = 2**53
ROLES = ("system", "user", "assistant")
MESSAGES_MAX = 100_000
"""Of a conversation that is loaded: more than any context holds. A guess."""

Screens = TextScreen | JsonScreen


@dataclass(slots=True)
class Talk:
    """A conversation and where it is told. `turn` is the last one, until it is undone."""

    chat: "Chat"
    wanted: "Wanted"
    screen: Screens
    interrupts: Interrupts
    has_receipts: bool
    first_seed: int
    turn: "ChatTurn | None" = None
    turns: int = 0
    lines: int = 0
    refused: int = 0

    def take(self, line: str) -> bool:
        """One line done; False for the last one. Raises `LaneFailed`."""
        from tokenling.gguf import TemplateRefused
        from tokenling.runtime import GenerationRefused

        self.lines += 1
        try:
            found = parse_line(line)
            if isinstance(found, Say):
                self._say(found.text)
            elif found is not None:
                return self._do(found)
        except ChatLineRefused as refused:
            self.refuse(refused.code, f"expected {refused.expected}")
        except (GenerationRefused, TemplateRefused) as refused:
            self.refuse(refused.code, f"found {refused.found}, expected {refused.expected}{chat_hint(refused.code)}")
        return True

    def refuse(self, code: str, detail: str) -> None:
        """A line could not be done; the chat goes on."""
        self.refused += 1
        self.screen.refused(self.lines, code, detail)

    def _say(self, text: str) -> None:
        from tokenling.runtime import Cancellation

        sampling = replace(self.wanted.sampling, seed=(self.first_seed + self.turns) % SEED_END)
        wanted, cancel = replace(self.wanted, sampling=sampling), Cancellation()
        piece = self.screen.piece
        turn, _ = self.interrupts.run(lambda: self.chat.ask(text, wanted, cancel=cancel, on_token=piece), cancel)
        self.turns += 1
        self.turn = turn
        self.screen.replied(turn, self.chat.context)

    def _do(self, found: Do) -> bool:
        match found.word:
            case "/quit":
                return False
            case "/help":
                self.screen.help()
            case "/context":
                self.screen.context(self.chat.tokens, self.chat.context)
            case "/reset":
                self._restart([message for message in self.chat.messages[:1] if message["role"] == "system"], found)
            case "/system":
                self._restart([{"role": "system", "content": found.rest}] if found.rest else [], found)
            case "/undo":
                self._undo(found)
            case "/save":
                self._write(found, json.dumps({"messages": list(self.chat.messages)}, ensure_ascii=False).encode())
            case "/receipt":
                self._write(found, self._receipt())
        return True

    def _restart(self, messages: "Sequence[Message]", found: Do) -> None:
        self.chat.restart(messages)
        self.turn = None
        self.screen.done(found.word, "a new conversation")

    def _undo(self, found: Do) -> None:
        if len(self.chat.messages) < 2 or self.chat.messages[-1]["role"] != "assistant":
            raise ChatLineRefused("nothing_to_undo", "a reply before it")
        self.chat.restart(self.chat.messages[:-2])
        self.turn = None
        self.screen.done(found.word, "the last question and its reply are forgotten")

    def _receipt(self) -> bytes:
        if not self.has_receipts:
            raise ChatLineRefused("no_receipts", "a chat that was started with --receipts")
        if self.turn is None or not self.turn.generation.token_ids:
            raise ChatLineRefused("no_reply", "a reply before it")
        return self.chat.receipt_of(self.turn).owner_json()

    def _write(self, found: Do, data: bytes) -> None:
        try:
            put_new(Path(found.rest).expanduser(), data)
        except FileExistsError:
            raise ChatLineRefused("file_exists", "a new name: nothing is overwritten") from None
        except (OSError, ValueError) as error:
            reason = (getattr(error, "strerror", None) or "no name that a file can have").lower()
            raise ChatLineRefused("not_written", f"a file that can be written: {reason}") from None
        self.screen.done(found.word, f"written to {found.rest}")


@click.command("chat")
@file_argument
@system_option
@click.option(
    "--load", "saved", type=click.Path(path_type=Path, dir_okay=False), help="Go on with a /save'd conversation."
)
@click.option("--receipts", is_flag=True, help="Make replies that /receipt can write a receipt of.")
@sampling_options
@context_option
@numerics_option
@threads_option
@cache_option
@json_option
def command(
    *,
    file: Path,
    system: str | None,
    saved: Path | None,
    receipts: bool,
    max_tokens: int | None,
    temperature: int,
    top_k: int,
    top_p: int,
    seed: int | None,
    stops: tuple[str, ...],
    context: int,
    numerics: "Numerics | None",
    threads: int,
    cache_dir: Path | None,
    as_json: bool,
) -> None:
    """Talk with the model of FILE: type to it; /help lists what else you can do. Ctrl-C stops a reply.

    What was said stays in the caches: a turn costs what is new. Standard input may be a pipe, a line a turn. Exit
    codes: 0 done, 1 a line was refused (input not from a terminal) or a step failed, 2 options, 3 the model, 130
    interrupted.
    """
    from tokenling.gguf import Wanted

    prepare_output()
    check_stops(stops)
    if max_tokens == 0:
        refuse_option("-n", "0", "at least 1: a reply has a token")
    if saved is not None and system is not None:
        refuse_option("--system", "--load too", "one of both: a saved conversation has its own")
    messages = read_messages(saved) if saved else [{"role": "system", "content": system}] if system else []
    wanted = Wanted(max_tokens, NEW_TOKENS, sampling_of(temperature, top_k, top_p, seed), stops)
    kind: Numerics = numerics or ("exact" if receipts else "fast")
    with refusals(file), opened_texts(file, context, chats=True, ahead=Ahead(kind, cache_dir, receipts)) as texts:
        if texts.template is None:
            refuse(ModelExit.MODEL, [f"model {file}: no chat template; tokenling model run continues a text with it"])
        loaded = load(texts, kind, threads=threads, cache_dir=cache_dir,
                      digests=receipts)  # fmt: skip
        sys.exit(talk_of(loaded, texts, messages, wanted, receipts=receipts, as_json=as_json))


def talk_of(
    loaded: Loaded, texts: Texts, messages: "Sequence[Message]", wanted: "Wanted", *, receipts: bool, as_json: bool
) -> int:
    """The whole chat; its exit code."""
    from tokenling.gguf import Chat

    screen: Screens = JsonScreen() if as_json else TextScreen()
    tell(loaded.model.notes)
    chat = Chat(loaded.model, loaded.lane, texts.prompt_ids, messages)
    screen.met(texts.file.path.name, chat.context)
    with interrupts_taken() as interrupts:
        return run(Talk(chat, wanted, screen, interrupts, receipts, wanted.sampling.seed))


def run(talk: Talk) -> int:
    """Take lines until they end. At a terminal one Ctrl-C at the prompt is a reminder, two in a row are the end."""
    at_terminal = sys.stdin.isatty()
    lines = Lines(sys.stdin.buffer, chat_lines.LINE_BYTES_MAX)
    was_reminded = False
    goes_on = True
    while goes_on:
        try:
            with talk.interrupts.raised():
                if at_terminal:
                    show_prompt()
                line = next_line(lines)
        except EOFError:
            break
        except ChatLineRefused as refused:
            talk.lines += 1
            talk.refuse(refused.code, f"expected {refused.expected}")
            continue
        except KeyboardInterrupt:
            if was_reminded or not at_terminal:
                raise
            was_reminded = True
            lines.forget()
            click.echo("", err=True)
            tell(["/quit or Ctrl-C once more stops"])
            continue
        was_reminded = False
        goes_on = talk.take(line)
    return ModelExit.FAILED if talk.refused and not at_terminal else ModelExit.DONE


def chat_hint(code: str) -> str:
    """What to do next in a chat."""
    return "; /reset begins anew, -c allows more" if code == "context_overflow" else hint(code)


def read_messages(path: Path) -> "list[Message]":
    """The conversation that `/save` wrote."""
    from tokenling.runtime.documents import JsonRefused, parse_object

    try:
        with path.open("rb") as file:
            data = file.read(TEXT_BYTES_MAX + 1)
        document = parse_object(data) if len(data) <= TEXT_BYTES_MAX else {}
    except OSError as error:
        refuse_option(f"--load {path}", (error.strerror or "an error").lower(), "a readable file")
    except JsonRefused as refused:
        refuse_option(f"--load {path}", str(refused), "a saved conversation")
    entries = document.get("messages")
    if not isinstance(entries, list) or len(entries) > MESSAGES_MAX:
        refuse_option(f"--load {path}", "no messages", "a saved conversation")
    return [_message(entry, path) for entry in entries]


def _message(entry: object, path: Path) -> "Message":
    fields = entry if isinstance(entry, dict) else {}
    role, content = fields.get("role"), fields.get("content")
    is_text = isinstance(content, str) and not any("\ud800" <= char <= "\udfff" for char in content)
    if set(fields) != {"role", "content"} or role not in ROLES or not is_text:
        refuse_option(f"--load {path}", "an entry that is no message", "role and content, as /save writes them")
    return {"role": str(role), "content": str(content)}
