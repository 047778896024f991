"""The graph contract on signatures alone: what no graph that ONNX Runtime loads may declare."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from tokenling.runtime.config import ModelConfig
from tokenling.runtime.errors import BrainRefused
from tokenling.runtime.graph import GraphLayout, TensorInfo, check_graph

CONFIG = ModelConfig("llama", layers=1, kv_heads=2, head_dim=8, vocabulary=100, positions_max=64, eos_ids=(0,))
Infos = dict[str, TensorInfo]
PAST, PRESENT = "past_key_values.0.key", "present.0.key"


def good() -> tuple[Infos, Infos]:
    """A signature that keeps the contract, with every optional input."""
    ids = ("input_ids", "attention_mask", "position_ids", "token_type_ids", "cache_position")
    ins = [TensorInfo(name, "tensor(int64)", ("batch", "seq")) for name in ids]
    outs = [TensorInfo("logits", "tensor(float)", ("batch", "seq", 100))]
    for word in ("key", "value"):
        ins.append(TensorInfo(f"past_key_values.0.{word}", "tensor(float)", ("batch", 2, "past", 8)))
        outs.append(TensorInfo(f"present.0.{word}", "tensor(float)", ("batch", 2, "total", 8)))
    return {info.name: info for info in ins}, {info.name: info for info in outs}


def check(ins: Infos, outs: Infos) -> GraphLayout:
    return check_graph(tuple(ins.values()), tuple(outs.values()), CONFIG)


def change(name: str, **fields: object) -> Callable[[Infos, Infos], None]:
    def spoil(ins: Infos, outs: Infos) -> None:
        side = ins if name in ins else outs
        side[name] = replace(side[name], **fields)  # type: ignore[arg-type]

    return spoil


def add(name: str, kind: str, shape: tuple[object, ...], *, output: bool = False) -> Callable[[Infos, Infos], None]:
    def spoil(ins: Infos, outs: Infos) -> None:
        (outs if output else ins)[name] = TensorInfo(name, kind, shape)  # type: ignore[arg-type]

    return spoil


def cache_types(past: str, present: str) -> Callable[[Infos, Infos], None]:
    def spoil(ins: Infos, outs: Infos) -> None:
        change(PAST, type=past)(ins, outs)
        change(PRESENT, type=present)(ins, outs)

    return spoil


REFUSED: dict[str, tuple[str, str, Callable[[Infos, Infos], object]]] = {
    "ids as floats": ("input_type", "input_ids", change("input_ids", type="tensor(float)")),
    "a mask of truth values": ("input_type", "attention_mask", change("attention_mask", type="tensor(bool)")),
    "a mask of rank four": ("input_rank", "attention_mask", change("attention_mask", shape=(1, 1, "a", "b"))),
    "positions of rank one": ("input_rank", "position_ids", change("position_ids", shape=("seq",))),
    "cache positions of rank three": ("input_rank", "cache_position", change("cache_position", shape=(1, 1, "seq"))),
    "cache positions of rank zero": ("input_rank", "cache_position", change("cache_position", shape=())),
    "fixed prompt length": ("input_sequence", "input_ids", change("input_ids", shape=(1, 8))),
    "batch of four": ("batch_fixed", "input_ids", change("input_ids", shape=(4, "seq"))),
    "half-precision logits": ("logits_type", "logits", change("logits", type="tensor(float16)")),
    "double-precision logits": ("logits_type", "logits", change("logits", type="tensor(double)")),
    "flat logits": ("logits_rank", "logits", change("logits", shape=("batch", 100))),
    "logits of a batch": ("batch_fixed", "logits", change("logits", shape=(2, "seq", 100))),
    "logits of two tokens": ("logits_sequence", "logits", change("logits", shape=(1, 2, 100))),
    "a padded vocabulary the config does not know": (
        "logits_vocabulary",
        "logits",
        change("logits", shape=(1, "s", 128)),
    ),
    "integer caches": ("cache_type", PAST, change(PAST, type="tensor(int8)")),
    "bfloat16 caches": ("cache_type", PAST, cache_types("tensor(bfloat16)", "tensor(bfloat16)")),
    "a cache that widens": ("cache_type_changed", PRESENT, cache_types("tensor(float16)", "tensor(float)")),
    "fused caches of rank five": ("cache_rank", PAST, change(PAST, shape=(2, 1, 2, "past", 8))),
    "flat caches": ("cache_rank", PAST, change(PAST, shape=(1, "past", 16))),
    "transposed caches": ("cache_axes_dynamic", PAST, change(PAST, shape=(1, "past", 2, 8))),
    "keys stored by width": ("cache_axes_dynamic", PAST, change(PAST, shape=(1, 2, 8, "past"))),
    "no axis that grows": ("cache_sequence", PRESENT, change(PRESENT, shape=(1, 2, 64, 8))),
    "a head too many": ("cache_shape", PAST, change(PAST, shape=(1, 3, "past", 8))),
    "a present of another width": ("cache_shape", PRESENT, change(PRESENT, shape=(1, 2, "total", 4))),
    "a cache of a batch": ("batch_fixed", PAST, change(PAST, shape=(2, 2, "past", 8))),
    "two presents of one past": (
        "cache_unmatched",
        PRESENT,
        add("present_key_values.0.key", "tensor(float)", (1, 2, "total", 8), output=True),
    ),
    "a layer beyond the config": (
        "input_unknown",
        "past_key_values.1.key",
        add("past_key_values.1.key", "tensor(float)", (1, 2, "past", 8)),
    ),
    "attention weights too": ("output_unknown", "attentions", add("attentions", "tensor(float)", (1, 2), output=True)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_signature_that_breaks_the_contract_is_refused_naming_the_tensor(name: str) -> None:
    code, subject, spoil = REFUSED[name]
    ins, outs = good()
    spoil(ins, outs)
    with pytest.raises(BrainRefused) as refusal:
        check(ins, outs)
    assert (code, subject) == (refusal.value.code, refusal.value.subject)


ACCEPTED: dict[str, Callable[[Infos, Infos], object]] = {
    "as it is": lambda ins, outs: None,
    "32-bit integers": change("cache_position", type="tensor(int32)"),
    "cache positions of rank one": change("cache_position", shape=("seq",)),
    "last-token logits": change("logits", shape=(1, 1, 100)),
    "logits of a vocabulary known at run time": change("logits", shape=("batch", "seq", "vocab")),
    "half-precision caches": cache_types("tensor(float16)", "tensor(float16)"),
    "double-precision caches": cache_types("tensor(double)", "tensor(double)"),
    "no mask": lambda ins, outs: ins.pop("attention_mask"),
    "no positions": lambda ins, outs: ins.pop("position_ids"),
    "an axis without a name": change(PAST, shape=(None, 2, None, 8)),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_a_signature_within_the_contract_is_laid_out(name: str) -> None:
    ins, outs = good()
    ACCEPTED[name](ins, outs)
    layout = check(ins, outs)
    assert {info.name for info in layout.inputs} == {key for key in ins if not key.startswith("past")}
    assert [(pair.past, pair.present) for pair in layout.caches] == [
        (PAST, PRESENT),
        ("past_key_values.0.value", "present.0.value"),
    ]
