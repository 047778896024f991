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


@pytest.mark.parametrize("name", write_ggufs.MODELS)
def test_the_model_is_what_the_generator_writes(name: str) -> None:
    data, logits = write_ggufs.make(name)
    assert (write_ggufs.OUT / f"{name}.gguf").read_bytes() == data
    assert np.abs(np.array(EXPECTED[name]) - np.array(logits)).max() < 1e-6
