"""What takes long tells how far it came: at a terminal, and only after a while."""

import io
import sys

from tokenling.cli.model.progress import loading_bar
from tokenling.gguf import open_gguf, open_model


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(monkeypatch, stream, seconds):
    """What a bar puts out whose work is told after so many seconds."""
    monkeypatch.setattr(sys, "stderr", stream)
    times = iter((0.0, *seconds))
    with loading_bar("model.gguf", lambda: next(times)) as told:
        for place, _ in enumerate(seconds):
            told("building", place + 1, len(seconds))
    return stream.getvalue()


def test_a_bar_shows_itself_at_a_terminal_after_two_seconds(monkeypatch):
    found = shown(monkeypatch, Terminal(), (0.5, 1.9, 2.1, 3.0))
    assert "model.gguf: building" in found
    assert "75%" in found
    assert "25%" not in found
    assert found.endswith("\n")


def test_what_is_quick_or_not_at_a_terminal_shows_nothing(monkeypatch):
    assert "" == shown(monkeypatch, Terminal(), (0.5, 1.9))
    assert "" == shown(monkeypatch, io.StringIO(), (2.5, 9.0))


def test_opening_a_model_tells_each_part_to_its_end(noisy):
    told = []
    with open_gguf(noisy) as file:
        open_model(file, digests=True, progress=lambda *now: told.append(now))
        size = sum(tensor.size_bytes for tensor in file.tensors.values())
    parts = list(dict.fromkeys(what for what, _, _ in told))
    assert ["reading", "building", "loading"] == parts
    last = {what: (done, total) for what, done, total in told}
    assert {"reading": (noisy.stat().st_size,) * 2, "building": (size, size), "loading": (1, 1)} == last
    for what in parts:
        done = [now[1] for now in told if now[0] == what]
        assert sorted(done) == done
