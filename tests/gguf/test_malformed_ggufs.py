"""Every way a GGUF file can break the format, with its verdict: refused by its own code, in bounded time and memory."""

import gc
import os
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from gguf_bytes import (
    ARRAY,
    BOOL,
    FLOAT32,
    INT32,
    STRING,
    UINT8,
    UINT32,
    Tensor,
    array,
    gguf,
    scalar,
    string,
    text,
    u32,
    u64,
    write,
)  # fmt: skip

from tokenling.gguf import GgufMalformed, GgufRefused, GgufUnsupported, open_gguf
from tokenling.runtime.ort import return_freed_memory

SECONDS_MAX = 2.0
BYTES_MAX = 200 * 2**20
ARCH = ("general.architecture", "llama")
ROW = Tensor("w", (32,), bytes(128))


def with_key(raw: bytes) -> bytes:
    """A file whose one key has this value; a kilobyte follows so that small lies are not caught by the file's end."""
    return gguf([("bad.key", raw)]) + bytes(1024)


def with_tensor(**changes: object) -> bytes:
    fields = {"name": "w", "extents": (32,), "data": bytes(128)} | changes
    return gguf([ARCH], [Tensor(**fields)])  # type: ignore[arg-type]


HUGE = 2**63
CASES: dict[str, tuple[str, bytes, str]] = {
    # name: (code, bytes, what the message names)
    "an empty file": ("file_truncated", b"", "model.gguf"),
    "a magic alone": ("file_truncated", b"GGUF", "model.gguf"),
    "a header without its last byte": ("file_truncated", gguf()[:23], "model.gguf"),
    "another magic": ("magic", gguf([ARCH], magic=b"GGML"), "magic"),
    "a pickle": ("magic", b"\x80\x04" + bytes(100), "magic"),
    "version 0": ("version", gguf([ARCH], version=0), "version"),
    "version 1": ("version", gguf([ARCH], version=1), "version"),
    "version 4": ("version", gguf([ARCH], version=4), "version"),
    "the other byte order": ("byte_order", gguf([ARCH], version=3 << 24), "big-endian"),
    "2^63 tensors": ("count_impossible", gguf([ARCH], tensor_count=HUGE), "tensor count"),
    "2^64 - 1 keys": ("count_impossible", gguf([ARCH], key_count=2**64 - 1), "metadata key count"),
    "one key more than there is": ("file_truncated", gguf([ARCH], key_count=2), "metadata key 1"),
    "more tensors than the bound": ("count_range", gguf(tensor_count=70_000) + bytes(4 * 2**20), "tensor count"),
    "more keys than the bound": ("count_range", gguf(key_count=70_000) + bytes(2 * 2**20), "metadata key count"),
    "a key longer than the file": ("file_truncated", gguf(key_count=1) + u64(60_000) + bytes(10), "metadata key 0"),
    "a key of 2^63 bytes": ("text_long", gguf(key_count=1) + u64(HUGE) + bytes(20), "metadata key 0"),
    "a key that is not UTF-8": ("text_encoding", gguf([(b"\xff\xfe", 1)]), "metadata key 0"),
    "an empty key": ("key_empty", gguf([("", 1)]), "metadata key 0"),
    "a key twice": ("key_duplicate", gguf([ARCH, ARCH]), "general.architecture"),
    "value type 13": ("value_type", with_key(u32(13)), "bad.key"),
    "value type 2^32 - 1": ("value_type", with_key(u32(2**32 - 1)), "bad.key"),
    "a key without a value": ("file_truncated", gguf(key_count=1) + text("bad.key"), "bad.key"),
    "a value cut in two": ("file_truncated", gguf([("bad.key", u32(UINT32) + b"\1")])[:-1].rstrip(b"\0"), "bad.key"),
    "a string of 2^63 bytes": ("text_long", with_key(u32(STRING) + u64(HUGE)), "bad.key"),
    "a string longer than the file": ("file_truncated", with_key(u32(STRING) + u64(5000)), "bad.key"),
    "a string that is not UTF-8": ("text_encoding", with_key(string(b"\xc3\x28")), "bad.key"),
    "a lone surrogate": ("text_encoding", with_key(string(b"\xed\xa0\x80")), "bad.key"),
    "a boolean of 2": ("boolean_range", with_key(scalar(BOOL, 2)), "bad.key"),
    "a boolean of 255 in an array": ("boolean_range", with_key(array(BOOL, [0, 1, 255])), "bad.key"),
    "an array of type 99": ("value_type", with_key(u32(ARRAY) + u32(99) + u64(1)), "bad.key"),
    "an array of arrays": ("array_nested", with_key(u32(ARRAY) + u32(ARRAY) + u64(1)), "bad.key"),
    "an array of 2^63 bytes": ("count_impossible", with_key(u32(ARRAY) + u32(UINT8) + u64(HUGE)), "bad.key"),
    "an array of 2^63 strings": ("count_impossible", with_key(u32(ARRAY) + u32(STRING) + u64(HUGE)), "bad.key"),
    "an array of 2^62 floats, whose size wraps to 0": (
        "count_impossible", with_key(u32(ARRAY) + u32(FLOAT32) + u64(2**62)), "bad.key"),
    "an array longer than the file": ("count_impossible", with_key(u32(ARRAY) + u32(INT32) + u64(400)), "bad.key"),
    "70 MiB of numbers in a long enough file": (
        "array_long", gguf([("bad.key", u32(ARRAY) + u32(UINT8) + u64(70 * 2**20))]) + bytes(71 * 2**20), "bad.key"),
    "more strings than the bound": (
        "array_long", gguf([("bad.key", u32(ARRAY) + u32(STRING) + u64(2**21 + 1))]) + bytes(17 * 2**20), "bad.key"),
    "strings of which one is longer than the file": (
        "file_truncated", with_key(u32(ARRAY) + u32(STRING) + u64(3) + text("a") + u64(5000)), "bad.key[1]"),
    "strings of which one has 2^64 - 1 bytes": (
        "text_long", with_key(u32(ARRAY) + u32(STRING) + u64(3) + text("a") + u64(2**64 - 1)), "bad.key[1]"),
    "strings of which one is not UTF-8": (
        "text_encoding", with_key(u32(ARRAY) + u32(STRING) + u64(2) + text("a") + text(b"\x80")), "bad.key[1]"),
    "an alignment of 0": ("key_type", gguf([("general.alignment", 0)]), "general.alignment"),
    "an alignment of 24": ("alignment", gguf([("general.alignment", 24)]), "general.alignment"),
    "an alignment of 4": ("alignment", gguf([("general.alignment", 4)]), "general.alignment"),
    "an alignment of 2^31": ("key_type", gguf([("general.alignment", 2**31)]), "general.alignment"),
    "an alignment in words": ("key_type", gguf([("general.alignment", "32")]), "general.alignment"),
    "a tensor name longer than the file": (
        "file_truncated", gguf(tensor_count=1) + u64(60) + bytes(33), "tensor name 0"),
    "a tensor name of 65 bytes": ("text_long", with_tensor(name="n" * 65), "tensor name 0"),
    "a tensor name that is not UTF-8": ("text_encoding", with_tensor(name=b"\xff"), "tensor name 0"),
    "a tensor without a name": ("tensor_unnamed", with_tensor(name=""), "tensor name 0"),
    "a tensor twice": ("tensor_duplicate", gguf([ARCH], [ROW, ROW]), "w"),
    "a tensor of no dimension": ("tensor_rank", with_tensor(rank=0), "w"),
    "a tensor of 5 dimensions": ("tensor_rank", with_tensor(extents=(32, 1, 1, 1, 1)), "w"),
    "a tensor of 2^32 - 1 dimensions": ("tensor_rank", with_tensor(rank=2**32 - 1), "w"),
    "an extent of 0": ("tensor_empty", with_tensor(extents=(32, 0)), "w"),
    "an extent of 2^64 - 1": ("tensor_size", with_tensor(extents=(2**64 - 1,)), "w"),
    "extents whose product wraps to 0": ("tensor_size", with_tensor(extents=(2**32, 2**32)), "w"),
    "extents whose product wraps to what the file holds": (
        "tensor_size", with_tensor(extents=(2**32, 2**32 + 1, 2**31, 2)), "w"),
    "a row that is no multiple of the block": ("tensor_row", with_tensor(extents=(33,), type=2), "w"),
    "a K-quantised row of 128": ("tensor_row", with_tensor(extents=(128,), type=12), "w"),
    "tensor type 4, which ggml has removed": ("tensor_type", with_tensor(type=4), "w"),
    "tensor type 2^31": ("tensor_type", with_tensor(type=2**31), "w"),
    "an offset that is not aligned": ("tensor_alignment", with_tensor(offset=8), "w"),
    "an offset of 2^64 - 32": ("tensor_truncated", with_tensor(offset=2**64 - 32), "w"),
    "an offset behind the end": ("tensor_truncated", with_tensor(offset=4096), "w"),
    "a tensor longer than the file": ("tensor_truncated", with_tensor(extents=(64,)), "w"),
    "a tensor cut by its last byte": ("tensor_truncated", with_tensor()[:-1], "w"),
    "a tensor within another": (
        "tensor_overlap", gguf([ARCH], [Tensor("a", (64,), bytes(256)), Tensor("b", (8,), bytes(32), offset=32)]), "b"),
    "two tensors at one place": (
        "tensor_overlap", gguf([ARCH], [ROW, Tensor("b", (32,), bytes(128), offset=0)]), "b"),
    "a tensor table cut in two": ("file_truncated", gguf([ARCH], [ROW])[:80], "w"),
    "a set of 65,535 parts": ("key_type", gguf([("split.count", 65_535)]), "split.count"),
    "a set of -1 parts": ("key_type", gguf([("split.count", scalar(INT32, -1))]), "split.count"),
    "a later part of a set": ("split_first", gguf([("split.no", 1), ("split.count", 2)]), "model.gguf"),
    "a set whose file has another name": ("split_name", gguf([("split.no", 0), ("split.count", 2)]), "model.gguf"),
    "fewer tensors than promised": ("split_tensors", gguf([("split.tensors.count", 3)], [ROW]), "split.tensors.count"),
}  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _nothing_left_to_free() -> None:
    """What earlier tests left and is freed under the bound would make room below it."""
    gc.collect()
    return_freed_memory()


@contextmanager
def bounded() -> Iterator[None]:
    """Inside it, `BYTES_MAX` more of private memory fail to be allocated, and more than `SECONDS_MAX` fail the test."""
    soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
    used = next(int(line.split()[1]) * 1024 for line in Path("/proc/self/status").read_text().splitlines()
                if line.startswith("VmData"))  # fmt: skip
    resource.setrlimit(resource.RLIMIT_DATA, (used + BYTES_MAX, hard))
    started = time.process_time()  # the processor's: a busy machine is no failure
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (soft, hard))
    assert time.process_time() - started < SECONDS_MAX


def test_the_bound_on_memory_can_be_hit() -> None:
    with bounded(), pytest.raises(MemoryError):
        bytearray(BYTES_MAX + 2**20)


def test_the_table_names_at_least_forty_cases() -> None:
    assert len(CASES) >= 40


@pytest.mark.parametrize("name", CASES)
def test_refused_by_its_own_code_and_name(name: str, tmp_path: Path) -> None:
    code, data, named = CASES[name]
    path = write(tmp_path / "model.gguf", data)
    with bounded(), pytest.raises(GgufRefused) as caught:
        open_gguf(path)
    assert code == caught.value.code
    assert named in str(caught.value)
    assert isinstance(caught.value, GgufMalformed | GgufUnsupported)


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case[0] != "tensor_truncated"])
def test_a_header_alone_is_refused_for_the_same_reasons(name: str, tmp_path: Path) -> None:
    code, data, _ = CASES[name]
    path = write(tmp_path / "model.gguf", data)
    with bounded(), pytest.raises(GgufRefused) as caught:
        open_gguf(path, header_only=True)
    assert code == caught.value.code


def test_a_sparse_file_of_a_terabyte_is_refused_as_fast(tmp_path: Path) -> None:
    path = write(tmp_path / "model.gguf", gguf(tensor_count=60_000, key_count=60_000))
    os.truncate(path, 2**40)
    with bounded(), pytest.raises(GgufRefused) as caught:
        open_gguf(path)
    assert "key_empty" == caught.value.code


def test_a_sparse_file_full_of_empty_strings_stays_within_the_bounds(tmp_path: Path) -> None:
    path = write(tmp_path / "model.gguf", gguf([("many", u32(ARRAY) + u32(STRING) + u64(2**39))]))
    os.truncate(path, 2**43)
    with bounded(), pytest.raises(GgufRefused) as caught:
        open_gguf(path)
    assert "array_long" == caught.value.code


@pytest.mark.parametrize("kind", ["missing", "directory", "pipe", "nul"])
def test_what_is_no_readable_file_is_refused(kind: str, tmp_path: Path) -> None:
    path = tmp_path / ("model\0" if kind == "nul" else "model")
    if kind == "directory":
        path.mkdir()
    if kind == "pipe":
        os.mkfifo(path)
    with bounded(), pytest.raises(GgufMalformed) as caught:
        open_gguf(path)
    assert caught.value.code in ("file_unreadable", "file_irregular")
    assert ("no such file" in str(caught.value)) == (kind == "missing")


def test_every_cut_of_a_good_file_is_refused_or_lacks_nothing(tmp_path: Path) -> None:
    whole = gguf({"general.architecture": "llama", "a.list": ["x", "yy"], "a.numbers": [1, 2, 3]}, [ROW])
    for size in range(len(whole)):
        path = write(tmp_path / "model.gguf", whole[:size])
        with pytest.raises(GgufMalformed):
            open_gguf(path)
