"""What a good GGUF file says, and that a header is enough to know what would be loaded."""

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from gguf_bytes import (
    BOOL,
    FLOAT64,
    INT8,
    INT64,
    UINT16,
    UINT32,
    UINT64,
    Tensor,
    array,
    gguf,
    scalar,
    tensor,
    write,
)  # fmt: skip
from hypothesis import given, settings
from hypothesis import strategies as st

import tokenling.gguf
from tokenling.gguf import GGML_TYPES, GgufMalformed, GgufRefused, open_gguf
from tokenling.runtime import BrainRefused

KEYS = {
    "general.architecture": "llama",
    "a.text": "grüße",
    "a.integer": 7,
    "a.number": 0.5,
    "a.flag": True,
    "a.texts": ["<s>", "", "▁the"],
    "a.integers": [1, -2],
    "a.numbers": [0.5, -1.0],
    "a.small": scalar(INT8, -3),
    "a.large": scalar(UINT64, 2**63 + 1),
    "a.wide": scalar(INT64, -(2**62)),
    "a.double": scalar(FLOAT64, 0.1),
    "a.flags": array(BOOL, [1, 0]),
    "a.none": array(UINT32, []),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    weights = np.arange(96, dtype=np.float32).reshape(3, 32)
    return write(tmp_path / "model.gguf", gguf(KEYS, [tensor("w", weights), tensor("b", np.ones(3))]))


@pytest.mark.parametrize("version", [2, 3])
def test_values_come_back_as_they_were_written(version: int, tmp_path: Path) -> None:
    with open_gguf(write(tmp_path / "v.gguf", gguf(KEYS, version=version))) as file:
        meta = file.metadata
        assert version == file.version
        assert "llama" == file.architecture
        assert "grüße" == meta.text("a.text")
        assert 7 == meta.integer("a.integer")
        assert 0.5 == meta.number("a.number")
        assert meta.flag("a.flag")
        assert ("<s>", "", "▁the") == meta.texts("a.texts")
        assert (1, -2) == meta.integers("a.integers")
        assert (0.5, -1.0) == meta.numbers("a.numbers")
        assert (-3, 2**63 + 1, -(2**62), 0.1) == tuple(meta[f"a.{n}"] for n in ("small", "large", "wide", "double"))
        assert [True, False] == meta["a.flags"].tolist()  # type: ignore[union-attr]
        assert () == meta.texts("a.none") == meta.integers("a.none")
        assert list(KEYS) == list(meta)


def test_a_tensor_is_known_by_shape_type_and_bytes(path: Path) -> None:
    with open_gguf(path) as file:
        weights = file.tensors["w"]
        assert ((3, 32), "F32", 384, 96) == (weights.shape, weights.type.name, weights.size_bytes, weights.elements)
        found = np.frombuffer(file.data("w"), "<f4").reshape(weights.shape)
        assert (np.arange(96).reshape(3, 32) == found).all()
        assert file.data("w").readonly
        assert file.is_complete
        assert path.stat().st_size == file.size_bytes


def test_a_view_outlives_the_file(path: Path) -> None:
    with open_gguf(path) as file:
        view = file.data("b")
    assert [1.0, 1.0, 1.0] == np.frombuffer(view, "<f4").tolist()


@pytest.mark.parametrize(
    ("ask", "code"),
    [
        (lambda meta: meta.text("a.integer"), "key_type"),
        (lambda meta: meta.text("absent"), "key_missing"),
        (lambda meta: meta.integer("a.flag"), "key_type"),
        (lambda meta: meta.integer("a.small"), "key_type"),
        (lambda meta: meta.integer("a.integer", least=8), "key_type"),
        (lambda meta: meta.number("a.text"), "key_type"),
        (lambda meta: meta.flag("a.integer"), "key_type"),
        (lambda meta: meta.texts("a.integers"), "key_type"),
        (lambda meta: meta.integers("a.numbers"), "key_type"),
        (lambda meta: meta.numbers("a.texts"), "key_type"),
        (lambda meta: meta.numbers("absent"), "key_missing"),
    ],
)
def test_a_value_of_another_kind_is_refused_by_its_key(ask, code: str, path: Path) -> None:  # type: ignore[no-untyped-def]
    with open_gguf(path) as file, pytest.raises(GgufMalformed) as caught:
        ask(file.metadata)
    assert code == caught.value.code
    assert caught.value.subject.startswith(("a.", "absent"))


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_number_that_is_not_finite_is_refused(bad: float, tmp_path: Path) -> None:
    with open_gguf(write(tmp_path / "n.gguf", gguf({"x": bad}))) as file, pytest.raises(GgufMalformed):
        file.metadata.number("x")


def test_an_absent_key_takes_its_default(path: Path) -> None:
    with open_gguf(path) as file:
        meta = file.metadata
        assert ("d", 4, 0.5, False) == (meta.text("n", "d"), meta.integer("n", 4), meta.number("n", 0.5),
                                        meta.flag("n", False))  # fmt: skip
        assert (("x",), (1,), (0.5,)) == (meta.texts("n", ("x",)), meta.integers("n", (1,)), meta.numbers("n", (0.5,)))


def test_a_header_is_enough_to_know_the_tensors(path: Path, tmp_path: Path) -> None:
    whole = path.read_bytes()
    with open_gguf(path) as file:
        expected = dict(file.tensors)
        data_at = min(row.offset_bytes for row in file.tensors.values())
    for size in (data_at, data_at + 100, len(whole) - 1):
        with open_gguf(write(tmp_path / "cut.gguf", whole[:size]), header_only=True) as cut:
            assert expected == dict(cut.tensors)
            assert not cut.is_complete
            with pytest.raises(GgufMalformed, match="tensor_truncated"):
                cut.data("b")


def test_a_cut_within_the_header_is_refused_even_so(path: Path, tmp_path: Path) -> None:
    cut = write(tmp_path / "cut.gguf", path.read_bytes()[:400])
    with pytest.raises(GgufMalformed, match="file_truncated"):
        open_gguf(cut, header_only=True)


def split_set(folder: Path, *, second: dict[str, object] | None = None, name: str = "b") -> Path:
    """A set of two files with a tensor each."""
    first_keys = {"general.architecture": "llama", "split.no": scalar(UINT16, 0), "split.count": scalar(UINT16, 2),
                  "split.tensors.count": 2}  # fmt: skip
    second_keys = {"split.no": scalar(UINT16, 1), "split.count": scalar(UINT16, 2)} | (second or {})
    write(folder / "m-00002-of-00002.gguf", gguf(second_keys, [tensor(name, np.full(4, 2.0))]))
    return write(folder / "m-00001-of-00002.gguf", gguf(first_keys, [tensor("a", np.full(3, 1.0))]))


def test_a_split_set_is_one_file(tmp_path: Path) -> None:
    with open_gguf(split_set(tmp_path)) as file:
        assert ["a", "b"] == sorted(file.tensors)
        assert [2.0] * 4 == np.frombuffer(file.data("b"), "<f4").tolist()
        assert ["m-00001-of-00002.gguf", "m-00002-of-00002.gguf"] == [path.name for path in file.paths]
        assert file.is_complete


@pytest.mark.parametrize(
    ("second", "name", "code"),
    [
        ({"split.no": 0}, "b", "split_number"),
        ({"split.count": 3}, "b", "split_number"),
        ({}, "a", "tensor_duplicate"),
    ],
)
def test_a_set_that_disagrees_with_itself_is_refused(
    second: dict[str, object], name: str, code: str, tmp_path: Path
) -> None:
    with pytest.raises(GgufMalformed) as caught:
        open_gguf(split_set(tmp_path, second=second, name=name))
    assert code == caught.value.code


def test_a_set_that_lacks_a_part_is_refused_and_its_header_is_not(tmp_path: Path) -> None:
    first = split_set(tmp_path)
    (tmp_path / "m-00002-of-00002.gguf").unlink()
    with pytest.raises(GgufMalformed, match="m-00002-of-00002"):
        open_gguf(first)
    with open_gguf(first, header_only=True) as file:
        assert ["a"] == list(file.tensors)
        assert not file.is_complete


def test_an_alignment_of_the_files_own_moves_the_data(tmp_path: Path) -> None:
    data = gguf({"general.alignment": 256}, [tensor("w", np.ones(8)), tensor("v", np.ones(8) * 2)], alignment=256)
    with open_gguf(write(tmp_path / "a.gguf", data)) as file:
        assert all(row.offset_bytes % 256 == 0 for row in file.tensors.values())
        assert [2.0] * 8 == np.frombuffer(file.data("v"), "<f4").tolist()


def test_a_tensor_of_four_dimensions_is_row_major(tmp_path: Path) -> None:
    row = Tensor("w", (2, 3, 4, 5), bytes(480))
    with open_gguf(write(tmp_path / "a.gguf", gguf(tensors=[row]))) as file:
        assert (5, 4, 3, 2) == file.tensors["w"].shape


def test_the_table_of_types_is_the_gguf_packages(gguf_package: ModuleType) -> None:
    sizes = gguf_package.GGML_QUANT_SIZES
    theirs = {int(kind): (kind.name, *sizes[kind]) for kind in gguf_package.GGMLQuantizationType}
    ours = {kind.number: (kind.name, kind.block_elements, kind.block_bytes) for kind in GGML_TYPES.values()}
    assert ours == {number: row for number, row in theirs.items() if number in ours}


@settings(deadline=None)  # a busy machine is no failure
@given(st.binary(max_size=400))
def test_any_bytes_behind_a_good_start_are_read_or_refused(data: bytes) -> None:
    path = Path(_folder) / "random.gguf"
    path.write_bytes(b"GGUF\3\0\0\0\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0" + data)
    try:
        open_gguf(path).close()
    except GgufRefused:
        return


@settings(deadline=None)
@given(st.data())
def test_a_good_file_with_some_bytes_changed_is_read_or_refused(data: st.DataObject) -> None:
    whole = bytearray(gguf(KEYS, [tensor("w", np.ones((3, 32))), tensor("b", np.ones(3))]))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path = Path(_folder) / "changed.gguf"
    path.write_bytes(whole)
    try:
        with open_gguf(path) as file:
            assert all(len(file.data(name)) == row.size_bytes for name, row in file.tensors.items())
    except GgufRefused:
        return


_folder = ""


@pytest.fixture(autouse=True, scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Where the property tests write: hypothesis takes no function-scoped fixture."""
    globals()["_folder"] = str(tmp_path_factory.mktemp("random"))


def test_the_public_names_are_these() -> None:
    assert tokenling.gguf.__all__ == [
        "ARCHITECTURES", "FLOATS", "GENERATION_RECEIPT_VERSION", "GGML_TYPES", "QUANTIZATIONS", "BufferedSteps",
        "Chat", "ChatTemplate", "ChatTurn", "ContextOverflow", "GenerationReceipt", "GgmlType", "GgufFile",
        "GgufMalformed", "GgufRefused", "GgufTensor", "GgufTokenizer", "GgufUnsupported", "Hyperparameters",
        "MemoryNeed", "MetaValue", "Metadata", "Model", "Scores", "Summary", "TemplateRefused", "Wanted", "brain_of",
        "chat_ids", "chat_template", "check_architecture", "find_gguf", "generate", "gguf_tokenizer",
        "make_generation_receipt", "memory_of", "open_gguf", "open_gguf_brain", "open_model",
        "parse_generation_receipt", "read_hyperparameters",
        "room_for", "score", "summarize", "verify_generation",
    ]  # fmt: skip
    assert all(hasattr(tokenling.gguf, name) for name in tokenling.gguf.__all__)
    assert issubclass(GgufRefused, BrainRefused)


def test_importing_the_room_loads_no_heavy_library() -> None:
    heavy = "{'onnxruntime', 'tokenizers', 'onnx', 'trio', 'gguf', 'jinja2'}"
    code = f"import sys, tokenling.gguf; print(sorted({heavy} & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"
