"""Tiny brains, built once a run."""

from pathlib import Path

import pytest
import tiny_brain

from tokenling.engine.request import GenerationRequest
from tokenling.runtime import Brain, Lane, open_brain, open_lane


@pytest.fixture(scope="session")
def brain_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Llama with grouped queries, in all three precisions. Read only: copy it to change it."""
    return tiny_brain.make_brain(tmp_path_factory.mktemp("brains") / "tiny", precisions=("q4", "q8", "fp32"))


@pytest.fixture(scope="session")
def brain(brain_dir: Path) -> Brain:
    return open_brain(brain_dir)


@pytest.fixture
def lane(brain: Brain) -> Lane:
    return open_lane(brain)


@pytest.fixture
def request_values() -> dict[str, object]:
    """The fields of a request that fits the tiny brain."""
    return {
        "header": "You are Pip.",
        "lines": ("Owner: hello Pip", "Pip: I am well!"),
        "prefix": "Pip:",
        "mode": "line",
        "tags": tiny_brain.TAGS,
        "answers": {"[look weather]": "rain", "[look time]": "morning"},
        "max_new": 48,
        "top_k": 40,
        "temperature_milli": 850,
        "top_p_milli": 920,
        "ctx": 1024,
        "seed": 1,
    }


@pytest.fixture
def pet_request(request_values: dict[str, object]) -> GenerationRequest:
    return GenerationRequest(**request_values)  # type: ignore[arg-type]
