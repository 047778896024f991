"""`tokenling model …` on SmolLM2 135M (Q4_1) and Gemma 3 270M (Q4_K_M). `nox -s ggufs` runs it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tokenling.cli import main

FOLDER = Path(os.environ["TOKENLING_GGUFS"])
SMOLLM2, GEMMA3 = FOLDER / "SmolLM2-135M-Instruct.Q4_1.gguf", FOLDER / "gemma-3-270m-q4_k_m.gguf"


def call(*words: object, stdin: str | None = None) -> Result:
    return CliRunner().invoke(main, ["model", *map(str, words)], input=stdin)


def lines(done: Result) -> list[dict[str, object]]:
    return [line for line in map(json.loads, done.stdout.splitlines()) if line["kind"] != "piece"]


@pytest.mark.parametrize("numerics", ["fast", "exact"])
def test_a_question_is_answered(numerics: str) -> None:
    done = call("run", SMOLLM2, "What is the capital of France?", "--temperature", 0, "-n", 24, "--numerics", numerics)
    assert (0, "The capital of France is Paris.\n") == (done.exit_code, done.stdout)


def test_a_base_model_continues_a_text() -> None:
    done = call("run", GEMMA3, "one two three four five six", "--temperature", 0, "-n", 2)
    assert (0, " seven eight\n") == (done.exit_code, done.stdout)
    assert "no chat template" in done.stderr


def test_one_seed_writes_the_same_over_threads_and_processes_and_verify_says_identical(tmp_path: Path) -> None:
    texts = []
    for threads in (1, 2):
        receipt = tmp_path / f"{threads}.json"
        words = ("run", SMOLLM2, "Tell me a story.", "--seed", 11, "-n", 48, "--threads", threads, "--receipt", receipt)
        command = [sys.executable, "-m", "tokenling", "model", *map(str, words)]
        texts.append(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert texts[0] == texts[1]
    for made, threads in ((1, 2), (2, 1)):
        done = call("verify", tmp_path / f"{made}.json", "--model", SMOLLM2, "--threads", threads)
        assert (0, "identical\n") == (done.exit_code, done.stdout)


def test_a_chat_keeps_what_was_said_and_its_receipt_is_proved(tmp_path: Path) -> None:
    receipt = tmp_path / "r.json"
    typed = f"My name is Ada.\nWhat did I say?\n/receipt {receipt}\n"
    done = call("chat", SMOLLM2, "--seed", 1, "-n", 24, "--receipts", "--json", "--threads", 1, stdin=typed)
    _, first, second, _ = lines(done)
    assert isinstance(second["keptTokens"], int)
    assert isinstance(first["promptTokens"], int)
    assert second["keptTokens"] > first["promptTokens"]
    assert 0 == call("verify", receipt, "--model", SMOLLM2, "--threads", 2).exit_code


def test_a_true_sentence_is_likelier_than_a_shuffled_one() -> None:
    true, shuffled = (
        json.loads(call("score", SMOLLM2, text, "--json").stdout)["nllNats"]
        for text in ("The capital of France is Paris.", "Paris France the is of capital.")
    )
    assert true < shuffled - 1


MEASURE = """
import sys
from pathlib import Path
import onnxruntime, tokenizers
from tokenling.cli.model.machine import resident_bytes
from tokenling.gguf import BufferedSteps, open_gguf, open_model
from tokenling.runtime import Cancellation
path, numerics, context = sys.argv[1], sys.argv[2], int(sys.argv[3])
before = resident_bytes()
with open_gguf(path) as file:
    model = open_model(file, numerics=numerics, positions=context)
del file
Path("/proc/self/clear_refs").write_text("5")
steps = BufferedSteps(model, context, Cancellation())
steps.prefill([5 + at % 1000 for at in range(context - 8)], 512)
for token in range(8):
    steps.step([token])
rows = Path("/proc/self/status").read_text().splitlines()
print(next(int(row.split()[1]) for row in rows if row.startswith("VmHWM")) * 1024 - before)
"""


@pytest.mark.parametrize(
    ("path", "numerics", "context"), [(SMOLLM2, "fast", 2048), (SMOLLM2, "exact", 512), (GEMMA3, "fast", 1024)]
)
def test_the_predicted_memory_is_within_a_tenth_of_the_peak(path: Path, numerics: str, context: int) -> None:
    found = json.loads(call("fit", path, "-c", context, "--numerics", numerics, "--json").stdout)["fits"][0]
    expected = found["totalBytes"] - found["processBytes"]
    command = [sys.executable, "-c", MEASURE, str(path), numerics, str(context)]
    measured = int(subprocess.run(command, capture_output=True, check=True).stdout)
    assert 0.9 < measured / expected < 1.1, (measured, expected)
