"""`tokenling model chat`: a conversation that keeps its caches, and what can be done with it."""

import json
import os
import select
import signal
import stat
import subprocess
import sys

import pytest
from talking_models import SAYS, noisy_model, talking_model

from tokenling.cli.model import chat_lines

GREEDY = ("--temperature", 0, "--threads", 1)


def lines(done):
    """The JSON lines but the pieces."""
    return [line for line in map(json.loads, done.stdout.splitlines()) if line["kind"] != "piece"]


def chat(call, model, *typed, words=GREEDY, stdin=None):
    return call("chat", model, *words, "--json", stdin=stdin or "".join(line + "\n" for line in typed))


def test_each_line_is_answered_and_the_end_of_input_stops(call, talking):
    done = call("chat", talking, *GREEDY, stdin="hello\n\nand you?\n")
    assert (0, f"{SAYS}\n{SAYS}\n") == (done.exit_code, done.stdout)
    assert "a context of 256 tokens" in done.stderr


def test_what_was_said_is_kept_and_only_what_is_new_is_run(call, noisy):
    _, first, second, third = lines(chat(call, noisy, "one", "two", "three", words=("--seed", 4, "-n", 8)))
    assert (0, 8) == (first["keptTokens"], first["tokens"])
    assert second["keptTokens"] > first["promptTokens"]
    assert third["keptTokens"] > second["promptTokens"]
    assert [4, 5, 6] == [turn["seed"] for turn in (first, second, third)]


def test_pieces_join_to_the_reply(call, talking):
    done = chat(call, talking, "hello")
    pieces = [line["text"] for line in map(json.loads, done.stdout.splitlines()) if line["kind"] == "piece"]
    assert len(pieces) > 1
    assert SAYS == "".join(pieces) == lines(done)[-1]["text"]


def test_a_reset_forgets_all_but_the_systems_message(call, talking):
    words = (*GREEDY, "--system", "be kind")
    _, first, _, again, _, without = lines(
        chat(call, talking, "hi", "/reset", "hi", "/system", "hi", words=words)
    )  # fmt: skip
    assert first["promptTokens"] == again["promptTokens"] > without["promptTokens"]
    assert again["keptTokens"] > 0  # the same beginning is not run again
    _, other = lines(chat(call, talking, "hi", words=GREEDY))
    assert without["promptTokens"] == other["promptTokens"]


def test_undo_takes_back_the_last_question_and_its_reply(call, noisy):
    words = ("--seed", 4, "-n", 8)
    found = lines(chat(call, noisy, "one", "two", "/undo", "/undo", "/undo", "one", words=words))
    assert ["model", "reply", "reply", "done", "done", "refused", "reply"] == [line["kind"] for line in found]
    assert "nothing_to_undo" == found[5]["code"]
    assert found[1]["promptTokens"] == found[6]["promptTokens"]


def test_a_conversation_is_saved_and_gone_on_with(call, talking, tmp_path):
    saved = tmp_path / "chat.json"
    _, first, second, _ = lines(chat(call, talking, "hi", "more", f"/save {saved}"))
    assert 0o600 == stat.S_IMODE(saved.stat().st_mode)
    expected = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": SAYS},
                {"role": "user", "content": "more"}, {"role": "assistant", "content": SAYS}]  # fmt: skip
    assert expected == json.loads(saved.read_text())["messages"]
    _, third = lines(chat(call, talking, "still", words=(*GREEDY, "--load", saved)))
    assert third["promptTokens"] > second["promptTokens"] > first["promptTokens"]
    assert 2 == call("chat", talking, "--load", saved, "--system", "x", stdin="").exit_code


BAD_SAVES = {
    "no JSON": b"{",
    "no object": b"[]",
    "no messages": b"{}",
    "no list": b'{"messages": 1}',
    "no message": b'{"messages": [1]}',
    "another role": b'{"messages": [{"role": "god", "content": "x"}]}',
    "one more field": b'{"messages": [{"role": "user", "content": "x", "name": "y"}]}',
    "no text": b'{"messages": [{"role": "user", "content": 5}]}',
    "no Unicode": b'{"messages": [{"role": "user", "content": "\\ud800"}]}',
}


@pytest.mark.parametrize("data", BAD_SAVES.values(), ids=list(BAD_SAVES))
def test_what_is_no_saved_conversation_is_refused(call, talking, tmp_path, data):
    saved = tmp_path / "chat.json"
    saved.write_bytes(data)
    done = call("chat", talking, "--load", saved, stdin="hi\n")
    assert (2, "", 1) == (done.exit_code, done.stdout, len(done.stderr.splitlines()))


def test_a_context_that_would_overflow_is_refused_and_the_chat_goes_on(call, talking):
    done = chat(call, talking, "x" * 100, "y" * 140, "/context", "/undo", "z")
    _, first, refused, used, undone, last = lines(done)
    assert 1 == done.exit_code
    assert "context_overflow" == refused["code"]
    assert "expected at most 256 together" in refused["detail"]
    assert "/reset" in refused["detail"]
    assert (256, True) == (used["contextTokens"], used["usedTokens"] >= first["promptTokens"])
    assert ("done", SAYS) == (undone["kind"], last["text"])


def test_an_asked_length_must_fit_as_it_is(call, talking):
    done = chat(call, talking, "hi", words=(*GREEDY, "-n", 250))
    assert "250 to write" in lines(done)[1]["detail"]


def test_lines_that_ask_for_nothing_are_refused_by_their_number(call, talking, monkeypatch):
    monkeypatch.setattr(chat_lines, "LINE_BYTES_MAX", 1000)
    typed = (
        b"/fly\n/save\n/quit now\nhi\n" + b"caf\xe9\n" + b"a" * 5000 + b"\n//stroke\n/receipt x\n/help\n/quit\nlost\n"
    )
    done = chat(call, talking, stdin=typed)
    found = lines(done)
    assert 1 == done.exit_code
    kinds = ["model", *["refused"] * 3, "reply", "refused", "refused", "reply", "refused", "help"]
    assert kinds == [line["kind"] for line in found]
    refused = {line["line"]: line["code"] for line in found if line["kind"] == "refused"}
    assert {1: "unknown_command", 2: "missing_words", 3: "unexpected_words", 5: "not_utf8", 6: "line_long",
            8: "no_receipts"} == refused  # fmt: skip


def test_help_lists_every_command_and_the_page_does_too(call, talking):
    from pathlib import Path

    forms = lines(chat(call, talking, "/help"))[-1]["forms"]
    page = (Path(__file__).parents[2] / "docs" / "commands.md").read_text()
    for form in forms:
        word = form.partition(" ")[0]
        assert word == "WORDS" or f"`{word}" in page, form
    for form in ("/reset", "/undo", "/context", "/help"):
        assert chat_lines.Do(form, "") == chat_lines.parse_line(form)


# ---- receipts


def test_the_receipt_of_a_later_turn_proves_it_over_the_caches_it_had(call, noisy, tmp_path):
    words = ("--seed", 4, "-n", 12, "--receipts", "--threads", 1)
    done = chat(call, noisy, "one", "two", *[f"/receipt {tmp_path / 'r.json'}"] * 2, words=words)
    assert ["model", "reply", "reply", "done", "refused"] == [line["kind"] for line in lines(done)]
    receipt = json.loads((tmp_path / "r.json").read_text())
    assert sum(length * count for length, count in receipt["pieces"]) == lines(done)[2]["keptTokens"] > 0
    assert (0, "identical\n") == (
        (verdict := call("verify", tmp_path / "r.json", "--model", noisy)).exit_code,
        verdict.stdout,
    )


@pytest.mark.parametrize(
    ("typed", "code"),
    [(("/receipt {}/r",), "no_reply"), (("hi", "/undo", "/receipt {}/r"), "no_reply"),
     (("hi", "/receipt {}/no/r"), "not_written"), (("hi", "/save a\0b"), "not_written")],
)  # fmt: skip
def test_what_cannot_be_written_is_refused(call, noisy, tmp_path, typed, code):
    typed = [line.format(tmp_path) for line in typed]
    assert code == lines(chat(call, noisy, *typed, words=("--receipts", "-n", 2)))[-1]["code"]


# ---- what does not begin


def test_a_model_without_a_template_tells_what_runs_it(call, bare):
    done = call("chat", bare, stdin="hi\n")
    assert (3, "") == (done.exit_code, done.stdout)
    assert "tokenling model run" in done.stderr


def test_a_reply_of_no_tokens_is_refused(call, talking):
    assert 2 == call("chat", talking, "-n", 0, stdin="hi\n").exit_code


def test_a_template_that_refuses_a_conversation_is_told_and_the_chat_goes_on(call, tmp_path):
    template = "{% if messages|length > 1 %}{{ raise_exception('one question only') }}{% endif %}\n"
    path = talking_model(tmp_path / "m.gguf", template=template + "{{ messages[0]['content'] }}\n\n")
    done = chat(call, path, "hi", "and?", "/reset", "hi")
    assert ["model", "reply", "refused", "done", "reply"] == [line["kind"] for line in lines(done)]
    assert "template_raised" == lines(done)[2]["code"]


# ---- a terminal


class Terminal:
    """A chat whose input and output are a terminal of its own, seen from the terminal's other end."""

    def __init__(self, model, *words, stdout=None):
        self.end, child = os.openpty()
        command = [sys.executable, "-m", "tokenling", "model", "chat", str(model), *map(str, words)]
        # a run in the background of a shell has SIGINT ignored, and would hand that down
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.process = subprocess.Popen(
            command, stdin=child, stdout=stdout or child, stderr=child, start_new_session=True
        )
        signal.signal(signal.SIGINT, before)
        os.close(child)
        self._held = b""

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        self.process.kill()
        self.process.wait()
        os.close(self.end)

    def read(self, mark):
        """What is shown up to `mark`, which must come within a minute; what stands behind it is for the next."""
        while mark not in self._held:
            assert select.select([self.end], [], [], 60)[0], self._held
            self._held += os.read(self.end, 4096)
        shown, _, self._held = self._held.partition(mark)
        return shown

    def type(self, line):
        os.write(self.end, line)

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)


def test_ctrl_c_stops_the_reply_and_keeps_the_chat(tmp_path):
    path = noisy_model(tmp_path / "long.gguf", context=30_000)
    with Terminal(path, "-c", 30_000, "-n", 20_000, "--seed", 1, "--threads", 1) as terminal:
        terminal.read(b"\n> ")
        terminal.type(b"hello\n")
        terminal.read(b"hello\r\n")
        terminal.read(b"a")  # the reply has begun: its letters are random
        terminal.interrupt()
        terminal.read(b"tokenling: interrupted\r\n> ")
        terminal.type(b"/context\n")
        terminal.read(b"of 30000 tokens\r\n> ")
        terminal.interrupt()
        terminal.read(b"once more stops\r\n> ")
        terminal.type(b"/quit\n")
        assert 0 == terminal.process.wait(timeout=60)


def test_no_ctrl_c_at_the_prompt_is_lost_however_soon_it_comes(talking):
    with Terminal(talking, *GREEDY) as terminal:
        terminal.read(b"\n> ")
        for _ in range(100):
            terminal.interrupt()
            terminal.read(b"once more stops\r\n> ")
            terminal.type(b"/context\n")  # two in a row would end it
            terminal.read(b"of 256 tokens\r\n> ")
        terminal.interrupt()
        terminal.read(b"once more stops\r\n> ")
        terminal.interrupt()
        assert 130 == terminal.process.wait(timeout=60)


def test_what_is_typed_ahead_is_answered_in_order_and_ctrl_d_ends_it(talking):
    with Terminal(talking, *GREEDY) as terminal:
        terminal.read(b"\n> ")
        terminal.type(b"hello\n/undo\n/context\n\x04")
        terminal.read(SAYS.encode())
        terminal.read(b"are forgotten")
        terminal.read(b"of 256 tokens\r\n> ")
        assert 0 == terminal.process.wait(timeout=60)


def test_half_a_line_waits_for_its_rest_and_ctrl_d_twice_is_its_end(talking):
    with Terminal(talking, *GREEDY) as terminal:
        terminal.read(b"\n> ")
        terminal.type(b"/cont\x04")
        terminal.type(b"ext\n")
        terminal.read(b"of 256 tokens\r\n> ")
        terminal.type(b"/quit\x04\x04")
        assert 0 == terminal.process.wait(timeout=60)


def test_at_a_terminal_the_prompt_stays_out_of_redirected_output(talking):
    with Terminal(talking, *GREEDY, "--json", stdout=subprocess.PIPE) as terminal:
        terminal.read(b"> ")
        terminal.type(b"hello\n/quit\n")
        told = terminal.process.stdout.read().splitlines()
        terminal.process.stdout.close()
        assert 0 == terminal.process.wait(timeout=60)
    kinds = [json.loads(line)["kind"] for line in told]
    assert ("model", "reply") == (kinds[0], kinds[-1])
