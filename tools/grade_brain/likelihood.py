"""What a brain thinks of a reply that it did not write: perplexity, and whether a reply finds its owner's line."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from tokenling.engine import prompt_text
from tools.export_brain.directory import GRAPH_FILES
from tools.export_brain.graph import Precision
from tools.grade_brain.tally import Figure, Tally, share
from tools.train_brain.lives import Lived
from tools.train_brain.phrases import Chance
from tools.train_brain.pieces import Example, reply_pieces
from tools.train_brain.tokenizer import end_id, load_tokenizer

Array = NDArray[np.float32] | NDArray[np.int64]
Cache = Mapping[str, NDArray[np.float32]]
OTHERS = 19
"""Lines of other turns that the true one must beat."""
CHANCE_KEY = "other lines"


@dataclass(frozen=True, slots=True)
class Read:
    """Ids that were read: the logits behind each, and the cache that holds them all."""

    logits: NDArray[np.float32]  # (seq, vocab)
    cache: Cache
    length: int


class Reader:
    """A graph of a brain directory that is only asked for likelihoods, in numerics that the page agrees with."""

    def __init__(self, folder: Path, precision: Precision) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.add_session_config_entry("session.disable_quant_qdq", "1")
        self._ort = onnxruntime.InferenceSession(
            folder / GRAPH_FILES[precision], options, providers=["CPUExecutionProvider"]
        )
        self.tokenizer = load_tokenizer(folder / "tokenizer.json")
        self.end = end_id(self.tokenizer)
        self._inputs = {value.name: value.shape for value in self._ort.get_inputs()}
        self._outputs = [value.name for value in self._ort.get_outputs()]

    def empty(self) -> Read:
        """Nothing read yet."""
        cache = {
            name: np.zeros((1, shape[1], 0, shape[3]), dtype=np.float32)
            for name, shape in self._inputs.items()
            if name.startswith("past_key_values.")
        }
        return Read(np.zeros((0, 0), dtype=np.float32), cache, 0)

    def read(self, ids: Sequence[int], before: Read) -> Read:
        """What the brain thinks after each of `ids`, read behind `before`."""
        total = before.length + len(ids)
        feeds: dict[str, Array] = {
            "input_ids": np.array([ids], dtype=np.int64),
            "attention_mask": np.ones((1, total), dtype=np.int64),
            "position_ids": np.arange(before.length, total, dtype=np.int64)[None],
            **before.cache,
        }
        found = dict(zip(self._outputs, self._ort.run(None, self._known(feeds)), strict=True))
        cache = {name: found["present" + name.removeprefix("past_key_values")] for name in before.cache}
        return Read(found["logits"][0], cache, total)

    def _known(self, feeds: Mapping[str, Array]) -> dict[str, Array]:
        return {name: value for name, value in feeds.items() if name in self._inputs}

    def surprise(self, prompt: str, pieces: Sequence[tuple[str, bool]], before: Read) -> tuple[float, int]:
        """The nats that a reply's own text tokens cost behind a prompt, and how many they are."""
        ids = list(self.tokenizer.encode(prompt).ids)
        own = [False] * len(ids)
        for text, written in pieces:
            piece = self.tokenizer.encode(text).ids
            ids += piece
            own += [written] * len(piece)
        logits = self.read(ids[:-1], before).logits.astype(np.float64)
        highest = logits.max(1)
        log_sum = highest + np.log(np.exp(logits - highest[:, None]).sum(1))
        nats = log_sum - logits[np.arange(len(ids) - 1), ids[1:]]
        counted = np.array(own[1:])
        return float(nats[counted].sum()), int(counted.sum())


def example_of(lived: Lived) -> Example:
    """A turn as an example: only the answers that its reply uses."""
    request = lived.request
    used = {tag: answer for tag, answer in request.answers.items() if tag in lived.reply}
    return Example(prompt_text(request.header, request.lines, request.prefix), lived.reply, request.mode, used)


def perplexity(reader: Reader, turns: Sequence[Lived]) -> Figure:
    """How many text tokens the brain hesitates between, on average, at each of the writer's replies."""
    nats, count = 0.0, 0
    for lived in turns:
        example = example_of(lived)
        one, tokens = reader.surprise(example.prompt, list(reply_pieces(example)), reader.empty())
        nats, count = nats + one, count + tokens
    return Figure(math.exp(nats / max(1, count)), "", f"{count} text tokens")


def matching(reader: Reader, turns: Sequence[Lived], count: int) -> Figure:
    """How often the writer's reply is likeliest behind the very line that it answers, of `OTHERS` + 1.

    The first `count` turns in which somebody speaks to a waking pet: a sleeper's mumbling answers nothing.
    """
    spoken = [lived for lived in turns if lived.scene.said is not None and not lived.scene.asleep]
    lines = sorted({lived.request.lines[-1] for lived in spoken})
    tally = Tally()
    for number, lived in enumerate(spoken[:count]):
        tally.count(found_again(reader, lived, lines, Chance(CHANCE_KEY, number)))
    return share(tally)


def found_again(reader: Reader, lived: Lived, lines: Sequence[str], chance: Chance) -> bool:
    """Whether the true line beats the others for one reply; the trunk is read once for all of them."""
    *before, true = lived.request.lines
    others: list[str] = []
    while len(others) < min(OTHERS, len(lines) - 1):
        line = chance.pick(lines)
        if line != true and line not in others:
            others.append(line)
    example = example_of(lived)
    trunk = reader.read(reader.tokenizer.encode(prompt_text(lived.request.header, before, "")).ids, reader.empty())
    costs = [
        reader.surprise(f"{line}\n{lived.request.prefix}", list(reply_pieces(example)), trunk)[0]
        for line in (true, *others)
    ]
    return costs[0] < min(costs[1:])
