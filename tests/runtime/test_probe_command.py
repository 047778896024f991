"""`tokenling probe` and `tokenling verify`, as their users call them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tokenling.cli import probe
from tokenling.cli import verify as verify_command
from tokenling.engine.request import GenerationRequest
from tokenling.runtime import Brain, Lane, decode, make_receipt, plan_turn

# verbatim from the document the project started from
SEED_EXAMPLE = (
    '{"header":"","lines":[],"prefix":"hello little friend","mode":"line","maxNew":4,"temperature":0,"topK":40,'
    '"topP":0.92,"ctx":1024}\n'
)


def run(brain_dir: Path, text: str | bytes, *options: str, **settings: str) -> Result:
    env = {"SUBTOKENLING_MODEL_DIR": str(brain_dir), "SUBTOKENLING_THREADS": "1"} | settings
    return CliRunner().invoke(probe.command, options, input=text, env=env)


def lines_of(result: Result) -> list[dict[str, object]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize("dtype", ["q4", "q8", "fp32"])
def test_the_seed_documents_example_runs_verbatim(brain_dir: Path, dtype: str) -> None:
    result = run(brain_dir, SEED_EXAMPLE, SUBTOKENLING_MODEL_DTYPE=dtype)
    assert result.exit_code == 0, result.output
    (line,) = lines_of(result)
    assert line["prompt"] == "hello little friend"
    assert line["stop"] in ("length", "newline", "eos")
    assert 0 < int(str(line["tokens"])) <= 4
    assert set(line) == {"text", "prompt", "promptTokens", "tokens", "stop", "prefillMs", "decodeTokensPerSecond"}


def test_a_bad_object_gets_a_line_and_the_rest_go_on(brain_dir: Path) -> None:
    good = json.loads(SEED_EXAMPLE)
    bad = [good | {"topK": "40"}, good | {"extra": 1}, good | {"mode": "poem"}, good | {"temperatureMilli": 1}, 5, None,
           good | {"ctx": 3}, good | {"seed": 2**53}, good | {"prefix": ""}, good | {"lines": [1]},
           good | {"topP": 1.5}, good | {"maxNew": True}, good | {"prefix": "\ud800"}, {}]  # fmt: skip
    result = run(brain_dir, json.dumps([good, *bad, good]))
    lines = lines_of(result)
    assert result.exit_code == 1
    assert [True, *[False] * len(bad), True] == ["text" in line for line in lines]
    codes = [line["error"]["code"] for line in lines[1:-1]]  # type: ignore[index]
    assert codes == ["field_malformed", "field_unknown", "field_malformed", "field_malformed", "request_malformed",
                     "request_malformed", "does_not_fit", "field_malformed", "prompt_empty", "field_malformed",
                     "field_malformed", "field_malformed", "field_malformed", "field_malformed"]  # fmt: skip
    assert lines[0]["text"] == lines[-1]["text"]


def test_the_fixed_count_diagnostic_writes_exactly_that_many(brain_dir: Path) -> None:
    (line,) = lines_of(run(brain_dir, SEED_EXAMPLE, "--benchmark-tokens", "32"))
    assert (line["tokens"], line["stop"]) == (32, "length")
    assert float(str(line["decodeTokensPerSecond"])) > 0


@pytest.mark.parametrize("text", ["", "{", "[1,", '{"a":1,"a":2}', "NaN", "[" * 100_000, b"\xff"])
def test_input_that_is_no_json_ends_with_one_line(brain_dir: Path, text: str | bytes) -> None:
    result = run(brain_dir, text)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1


def test_a_missing_directory_setting_is_named() -> None:
    result = CliRunner().invoke(probe.command, [], input=SEED_EXAMPLE, env={"SUBTOKENLING_MODEL_DIR": ""})
    assert result.exit_code == 2
    assert result.stderr.startswith("tokenling: error: SUBTOKENLING_MODEL_DIR")


@pytest.mark.parametrize(
    ("setting", "value"),
    [("SUBTOKENLING_MODEL_DTYPE", "q5"), ("SUBTOKENLING_THREADS", "0"), ("SUBTOKENLING_THREADS", "many")],
)
def test_a_setting_out_of_range_is_refused(brain_dir: Path, setting: str, value: str) -> None:
    assert run(brain_dir, SEED_EXAMPLE, **{setting: value}).exit_code == 2


def test_a_brain_that_does_not_open_is_told_in_one_line(tmp_path: Path) -> None:
    result = run(tmp_path, SEED_EXAMPLE)
    assert result.exit_code == 3
    assert len(result.stderr.splitlines()) == 1


def test_an_export_without_brain_json_can_be_probed(brain_dir: Path, tmp_path: Path) -> None:
    for name in ("config.json", "tokenizer.json", "onnx/model_q4.onnx"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes((brain_dir / name).read_bytes())
    assert run(tmp_path, SEED_EXAMPLE).exit_code == 0


def test_verify_says_identical_different_and_refused(
    brain_dir: Path, brain: Brain, lane: Lane, pet_request: GenerationRequest, tmp_path: Path
) -> None:
    plan = plan_turn(pet_request, brain)
    receipt = make_receipt(plan, decode(lane, plan), brain, lane, request=pet_request)
    other = replace(receipt, token_ids=(*receipt.token_ids[:-1], 77)).owner_json()
    fast = replace(receipt, fields={**receipt.fields, "numerics": "fast"}).owner_json()
    for data, code, words in (
        (receipt.owner_json(), 0, "identical\n"),
        (other, 1, "different: outputSha256\n"),
        (fast, 2, "not provable here: numerics\n"),
        (receipt.public_json(), 2, ""),
        (b"{", 2, ""),
    ):
        (tmp_path / "receipt.json").write_bytes(data)
        result = CliRunner().invoke(verify_command.command, [str(tmp_path / "receipt.json"), "--brain", str(brain_dir)])
        assert (code, words) == (result.exit_code, result.stdout), result.output


@pytest.fixture
def receipts(brain: Brain, lane: Lane, pet_request: GenerationRequest) -> dict[str, bytes]:
    """An honest one, one with another output, one that cannot be proved, one without its request."""
    plan = plan_turn(pet_request, brain)
    honest = make_receipt(plan, decode(lane, plan), brain, lane, request=pet_request)
    return {
        "honest": honest.owner_json(),
        "other": replace(honest, token_ids=(*honest.token_ids[:-1], 77)).owner_json(),
        "fast": replace(honest, fields={**honest.fields, "numerics": "fast"}).owner_json(),
        "public": honest.public_json(),
    }


def verified(data: bytes, *options: str, **environ: str) -> Result:
    return CliRunner().invoke(verify_command.command, ["-", *options], input=data, env=environ)


ANSWERS = [
    (("honest",), 0, "identical\n"),
    (("honest", "honest"), 0, "1: identical\n2: identical\n"),
    (("honest", "fast"), 2, "1: identical\n2: not provable here: numerics\n"),
    (("other", "fast", "honest"), 1, "1: different: outputSha256\n2: not provable here: numerics\n3: identical\n"),
    (("public", "honest"), 2, "2: identical\n"),
]


@pytest.mark.parametrize(("names", "code", "words"), ANSWERS)
@pytest.mark.parametrize("form", [b'{"receipts": [%s]}', b"[%s]"])
def test_a_whole_answer_is_verified_turn_by_turn_and_the_worst_one_counts(
    receipts: dict[str, bytes], brain_dir: Path, names: tuple[str, ...], code: int, words: str, form: bytes
) -> None:
    result = verified(form % b",".join(receipts[name] for name in names), "--brain", str(brain_dir))
    assert (code, words) == (result.exit_code, result.stdout), result.stderr
    assert names.count("public") == len(result.stderr.splitlines())


def test_one_turn_of_an_answer_can_be_named(receipts: dict[str, bytes], brain_dir: Path) -> None:
    data = b'{"receipts": [%s, %s]}' % (receipts["other"], receipts["honest"])
    assert "2: identical\n" == verified(data, "--turn", "2", SUBTOKENLING_MODEL_DIR=str(brain_dir)).stdout
    beyond = verified(data, "--turn", "3", SUBTOKENLING_MODEL_DIR=str(brain_dir))
    assert (2, "tokenling: error: --turn: found 3, expected 1 to 2, the oldest first\n") == (
        beyond.exit_code,
        beyond.stderr,
    )


HOSTILE = [b'{"receipts": []}', b"[]", b'{"receipts": [1]}', b'{"receipts": [null]}', b'{"receipts": ["\\ud800"]}',
           b'{"receipts": ' + b"[" * 100_000, b'{"receipts": {}}', b'{"receipts": [[[]]], "receipts": []}', b"",
           b"\xff", b'{"receipts": [{"receiptVersion": 1e400}]}']  # fmt: skip


@pytest.mark.parametrize("data", HOSTILE)
def test_what_holds_no_receipt_is_told_in_one_line(data: bytes) -> None:
    result = verified(data)
    assert (2, "") == (result.exit_code, result.stdout), result.output
    assert [True] == [line.startswith("tokenling: error: ") for line in result.stderr.splitlines()]


def test_without_a_brain_named_the_shipped_one_is_asked(receipts: dict[str, bytes]) -> None:
    result = verified(receipts["honest"], SUBTOKENLING_MODEL_DIR="")
    assert (1, "different: brainId\n") == (result.exit_code, result.stdout), result.stderr


def test_verify_against_no_brain_is_exit_3(
    brain: Brain, lane: Lane, pet_request: GenerationRequest, tmp_path: Path
) -> None:
    plan = plan_turn(pet_request, brain)
    data = make_receipt(plan, decode(lane, plan), brain, lane, request=pet_request).owner_json()
    result = CliRunner().invoke(verify_command.command, ["-", "--brain", str(tmp_path / "none")], input=data)
    assert result.exit_code == 3
