"""The tiny models of tests/gguf/models are what their generator writes, and what Transformers computes for them."""

import json

import numpy as np
import pytest
import write_ggufs

EXPECTED = json.loads((write_ggufs.OUT / "expected.json").read_text("utf-8"))


def test_the_list_is_the_generators() -> None:
    assert ["ids", *write_ggufs.MODELS] == list(EXPECTED)
    assert write_ggufs.IDS == EXPECTED["ids"]
    assert {f"{name}.gguf" for name in write_ggufs.MODELS} == {path.name for path in write_ggufs.OUT.glob("*.gguf")}


def test_the_long_factors_are_what_transformers_turns_by() -> None:
    found = json.loads((write_ggufs.OUT / "longrope.json").read_text("utf-8"))
    made = write_ggufs.beyond_original_context()
    assert found["ids"] == made["ids"]
    assert np.abs(np.array(found["logits"]) - np.array(made["logits"])).max() < 1e-6


@pytest.mark.parametrize("name", write_ggufs.MODELS)
def test_the_model_is_what_the_generator_writes(name: str) -> None:
    data, logits = write_ggufs.make(name)
    assert (write_ggufs.OUT / f"{name}.gguf").read_bytes() == data
    assert np.abs(np.array(EXPECTED[name]) - np.array(logits)).max() < 1e-6
