"""How a chat looks: as text for a person, or as JSON lines for a program."""

import sys
from typing import TYPE_CHECKING

import click

from tokenling.cli.console import tell
from tokenling.cli.model.chat_lines import HELP
from tokenling.cli.model.output import Stream
from tokenling.cli.model.run import STOP_WORDS, stop_remark
from tokenling.cli.model.shown import put_json, table

if TYPE_CHECKING:
    from tokenling.gguf import ChatTurn


PROMPT = "> "


def show_prompt() -> None:
    """At the terminal that a person sees, and in no file that output goes to."""
    sys.stdout.flush()
    for stream in (sys.stderr, sys.stdout):
        if stream.isatty():
            stream.write(PROMPT)
            stream.flush()
            return


class TextScreen:
    """For a person: replies on standard output, remarks on standard error."""

    def __init__(self) -> None:
        self._stream = Stream()

    def met(self, name: str, context: int) -> None:
        """Who is here."""
        tell([f"{name}; a context of {context} tokens; /help tells what you can do"])

    def piece(self, text: str) -> None:
        """A piece of the reply."""
        self._stream.put(text)

    def replied(self, turn: "ChatTurn", context: int) -> None:
        """The reply is over."""
        self._stream.end()
        remark = stop_remark(turn.generation, len(turn.plan.prompt_ids), context)
        if remark:
            tell([remark])

    def context(self, used: int, most: int) -> None:
        """How much of it is used."""
        click.echo(f"{used} of {most} tokens")

    def done(self, _word: str, remark: str) -> None:
        """A command was carried out."""
        tell([remark])

    def help(self) -> None:
        """What can be typed."""
        click.echo(table([list(row) for row in HELP.items()]))

    def refused(self, line: int, code: str, detail: str) -> None:
        """A line could not be done; the chat goes on."""
        self._stream.end()
        tell([f"line {line}: {code}: {detail}"])


class JsonScreen:
    """For a program: one JSON object a line on standard output, told apart by `kind`."""

    def met(self, name: str, context: int) -> None:
        put_json({"kind": "model", "name": name, "contextTokens": context})

    def piece(self, text: str) -> None:
        put_json({"kind": "piece", "text": text})

    def replied(self, turn: "ChatTurn", _context: int) -> None:
        generation = turn.generation
        put_json({
            "kind": "reply",
            "text": generation.text,
            "stop": STOP_WORDS[generation.stop],
            "promptTokens": len(turn.plan.prompt_ids),
            "keptTokens": turn.kept_tokens,
            "tokens": len(generation.token_ids),
            "seed": turn.plan.sampling.seed,
            "prefillMs": round(generation.prefill_ms, 3),
            "decodeMs": round(generation.decode_ms, 3),
        })  # fmt: skip

    def context(self, used: int, most: int) -> None:
        put_json({"kind": "context", "usedTokens": used, "contextTokens": most})

    def done(self, word: str, remark: str) -> None:
        put_json({"kind": "done", "command": word, "remark": remark})

    def help(self) -> None:
        put_json({"kind": "help", "forms": dict(HELP)})

    def refused(self, line: int, code: str, detail: str) -> None:
        put_json({"kind": "refused", "line": line, "code": code, "detail": detail})
