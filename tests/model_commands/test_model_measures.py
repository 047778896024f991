"""`tokenling model score`, `bench` and `verify`: what is computed of a model, and proved."""

import json
import math
from importlib import import_module
from itertools import pairwise

import numpy as np
import pytest
from talking_models import SAYS

from tokenling.gguf import open_gguf, open_model
from tokenling.gguf.steps import BufferedSteps
from tokenling.runtime import Cancellation


def logprobs(path, text):
    """The oracle: one token at a time, in float64 from the logits on."""
    with open_gguf(path) as file:
        model = open_model(file)
    steps = BufferedSteps(model, 64, Cancellation())
    ids = list(text.encode())
    found = []
    for token, following in pairwise(ids):
        row = steps.step([token]).astype(np.float64)
        found.append(float(row[following] - np.log(np.exp(row - row.max()).sum()) - row.max()))
    return found


# ---- score


def test_scores_are_each_tokens_share_behind_those_before_it(call, noisy):
    expected = logprobs(noisy, "some text")
    found = json.loads(call("score", noisy, "some text", "--json").stdout)
    assert [None, *expected] == pytest.approx([token["logprob"] for token in found["tokens"]], abs=1e-4)
    assert list(b"some text") == [token["id"] for token in found["tokens"]]
    assert -sum(expected) / 8 == pytest.approx(found["nllNats"], abs=1e-4)
    assert math.exp(found["nllNats"]) == pytest.approx(found["perplexity"])
    assert (8, "exact") == (found["scoredTokens"], found["numerics"])


def test_chunks_of_a_text_score_alike(call, noisy, monkeypatch):
    text = "a longer text, of several chunks"
    whole = json.loads(call("score", noisy, text, "--json").stdout)
    monkeypatch.setattr(import_module("tokenling.gguf.score"), "LOGITS_BYTES_MAX", 4 * 259 * 5)
    found = json.loads(call("score", noisy, text, "--json").stdout)
    assert whole["nllNats"] == pytest.approx(found["nllNats"], abs=1e-5)
    assert len(whole["tokens"]) == len(found["tokens"])


def test_what_the_model_says_is_likelier_than_what_it_does_not(call, talking):
    said, unsaid = (
        json.loads(call("score", talking, text, "--json").stdout) for text in ("\n" + SAYS, "\n" + SAYS[::-1])
    )
    assert said["perplexity"] < 1.1
    assert unsaid["perplexity"] > 100


def test_scores_are_shown_for_a_person(call, talking, tmp_path):
    source = tmp_path / "text"
    source.write_text("\nHé")
    shown = call("score", talking, "--file", source, "--tokens").stdout
    assert "perplexity" in shown
    assert "'H'" in shown
    assert 5 == sum(line.startswith(("'", "token ")) for line in shown.splitlines())
    assert shown == call("score", talking, "--tokens", stdin="\nHé").stdout


@pytest.mark.parametrize("text", ["", "x", "x" * 300])
def test_a_text_of_another_length_is_refused(call, talking, text):
    done = call("score", talking, text)
    assert (2, "", 1) == (done.exit_code, done.stdout, len(done.stderr.splitlines()))


def test_special_tokens_are_text_unless_they_are_asked_for(call, talking):
    counts = [len(json.loads(call("score", talking, "<|im_start|>a", "--json", *words).stdout)["tokens"])
              for words in ((), ("--special",))]  # fmt: skip
    assert [13, 2] == counts


def test_a_text_longer_than_the_context_is_told_what_scoring_can_do_about_it(call, talking):
    done = call("score", talking, "a" * 257)
    assert (2, "") == (done.exit_code, done.stdout)
    expected = "text: found 257 tokens, expected at most 256 (context_overflow); give a longer -c or a shorter text"
    assert f"tokenling: error: {expected}\n" == done.stderr


def test_one_and_two_threads_score_to_the_same_bits(call, noisy):
    found = [call("score", noisy, "some text", "--json", "--threads", threads).stdout for threads in (1, 2)]
    assert found[0] == found[1]


# ---- bench


def test_every_way_and_length_is_measured(call, noisy):
    words = ("--rounds", 2, "--tokens", 4, "--prompt", 3, "--prompt", 9, "--threads", 1, "--threads", 2,
             "--numerics", "fast", "--numerics", "exact")  # fmt: skip
    found = json.loads(call("bench", noisy, *words, "--json").stdout)
    ways = {(row["numerics"], row["threads"], row["promptTokens"]) for row in found["rows"]}
    assert ways == {(kind, threads, prompt) for kind in ("fast", "exact") for threads in (1, 2) for prompt in (3, 9)}
    for row in found["rows"]:
        assert (2, 2) == (len(row["prefillMs"]), len(row["stepMs"]))
        assert 1000 / row["decodeTokensPerSecond"] == pytest.approx(sum(row["stepMs"]) / 2, rel=0.05, abs=0.001)
    assert "decode/s" in call("bench", noisy, "--rounds", 1, "--tokens", 2).stdout


@pytest.mark.parametrize("words", [("--prompt", 5, "--prompt", 5), ("--rounds", 0), ("--tokens", 1), ("--threads", 0)])
def test_a_measurement_that_is_none_is_refused(call, noisy, words):
    assert 2 == call("bench", noisy, *words).exit_code


def test_a_measurement_that_does_not_fit_the_model_is_refused(call, noisy):
    done = call("bench", noisy, "--prompt", 500, "--tokens", 20)
    assert 3 == done.exit_code
    assert "positions" in done.stderr


# ---- verify


@pytest.fixture(scope="module")
def receipt(call, noisy, tmp_path_factory):
    path = tmp_path_factory.mktemp("receipt") / "r.json"
    assert 0 == call("run", noisy, "abc", "-n", 12, "--seed", 3, "--receipt", path).exit_code
    return path


def changed(receipt, folder, **fields):
    folder.mkdir(exist_ok=True)
    path = folder / "changed.json"
    path.write_text(json.dumps(json.loads(receipt.read_text()) | fields))
    return path


def test_verdicts_have_their_exit_codes(call, receipt, noisy, talking, tmp_path):
    document = json.loads(receipt.read_text())
    cases = [
        (receipt, noisy, 0, "identical"),
        (changed(receipt, tmp_path / "seed", seed=4), noisy, 1, "different: tokens at token"),
        (receipt, talking, 1, "different: positions"),
        (changed(receipt, tmp_path / "positions", positions=200), talking, 1, "different: files"),
    ]
    for path, model, code, said in cases:
        done = call("verify", path, "--model", model)
        assert code == done.exit_code
        assert done.stdout.startswith(said)
    fast = changed(receipt, tmp_path, numerics="fast")
    done = call("verify", fast, "--model", "/nowhere")
    assert (2, "not provable here: numerics\n") == (done.exit_code, done.stdout)
    found = json.loads(call("verify", receipt, "--model", noisy, "--json").stdout)
    assert {"verdict": "identical", "subject": None, "token": None} == found
    assert 12 == document["outputTokens"]


def test_the_model_that_the_receipt_names_is_found_beside_it(call, receipt, noisy, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = call("verify", receipt)
    assert 3 == done.exit_code
    assert "--model" in done.stderr
    (tmp_path / "noisy.gguf").symlink_to(noisy)
    assert 0 == call("verify", receipt).exit_code
    assert 0 == call("verify", "-", stdin=receipt.read_bytes()).exit_code
    moved = tmp_path / "sub" / "r.json"
    moved.parent.mkdir()
    moved.write_bytes(receipt.read_bytes())
    monkeypatch.chdir("/")
    (moved.parent / "noisy.gguf").symlink_to(noisy)
    assert 0 == call("verify", moved).exit_code


@pytest.mark.parametrize("files", [{}, {"../noisy.gguf": "0"}, {"/etc/passwd": "0"}, {"": "0"}])
def test_a_receipt_leads_to_no_file_elsewhere(call, receipt, tmp_path, files):
    done = call("verify", changed(receipt, tmp_path, files=files))
    assert 2 == done.exit_code
    assert "no file's name" in done.stderr


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"\xff", b"{" * 100_000])
def test_what_is_no_receipt_exits_with_2(call, noisy, tmp_path, data):
    path = tmp_path / "r.json"
    path.write_bytes(data)
    done = call("verify", path, "--model", noisy)
    assert (2, "", 1) == (done.exit_code, done.stdout, len(done.stderr.splitlines()))


@pytest.mark.parametrize("positions", [0, -5, 10**9])
def test_impossible_positions_are_found_out(call, receipt, noisy, tmp_path, positions):
    assert call("verify", changed(receipt, tmp_path, positions=positions), "--model", noisy).exit_code in (1, 2)
