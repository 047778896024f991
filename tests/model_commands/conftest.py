"""What the tests of `tokenling model …` share: tiny models with a tokenizer and a template, a way to call commands."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tokenling.cli import main

sys.path.append(str(Path(__file__).parents[1] / "gguf"))

from talking_models import noisy_model, talking_model

Call = Callable[..., Result]


@pytest.fixture(scope="session")
def talking(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that always says the same."""
    return talking_model(tmp_path_factory.mktemp("talking") / "talking.gguf")


@pytest.fixture(scope="session")
def noisy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with real attention over random weights: every token before counts."""
    return noisy_model(tmp_path_factory.mktemp("noisy") / "noisy.gguf")


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The talking model without a chat template."""
    return talking_model(tmp_path_factory.mktemp("bare") / "bare.gguf", template="")


@pytest.fixture(scope="session")
def call() -> Call:
    """`tokenling model WORDS`, in this process, on one thread."""

    def run(*words: object, stdin: str | bytes | None = None) -> Result:
        return CliRunner().invoke(main, ["model", *map(str, words)], input=stdin)

    return run
