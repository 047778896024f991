"""`tokenling contract` as a maker of another build calls it."""

import json
from hashlib import sha256

from click.testing import CliRunner

from tokenling.cli import main
from tokenling.engine.contract import contract


def printed(*arguments: str) -> bytes:
    result = CliRunner().invoke(main, ["contract", *arguments])
    assert result.exit_code == 0
    return result.stdout_bytes


def test_the_command_prints_the_contract_byte_for_byte() -> None:
    assert contract().encode() == printed()


def test_the_contract_has_fifteen_lists_300_states_and_two_replays_of_at_least_40_steps() -> None:
    found = json.loads(printed())
    assert len(found["lists"]) == 15
    assert len(found["states"]) == 300
    assert [len(replay["steps"]) >= 40 for replay in found["replays"]] == [True, True]
    assert len({replay["zone"] for replay in found["replays"]}) == 2


def test_the_digest_is_the_texts() -> None:
    assert sha256(contract().encode()).hexdigest() == printed("--digest").decode().strip()
