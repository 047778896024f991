"""ONNX Runtime, imported late and set up in one place: which wheel, which options, what a session declares."""

import contextlib
import ctypes
import io
import os
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from tokenling.runtime.device import CPU, Device
from tokenling.runtime.errors import BrainRefused
from tokenling.runtime.graph import TensorInfo

if TYPE_CHECKING:
    import onnxruntime

os.environ["ORT_DISABLE_TELEMETRY"] = "1"
"""Read when ONNX Runtime is loaded: its wheels otherwise keep a device id and events in the user's cache directory, for
their maker. Nothing of a pet's house leaves it."""

Numerics: TypeAlias = Literal["exact", "fast"]

ORT_OLDEST = (1, 28)
"""The first with API 27, which the seed document names."""
WHEELS = ("onnxruntime", "onnxruntime-gpu")
"""Two distributions of one module: with both installed, which one runs is chance."""
THREADS_MAX = 256
"""A guess: more than any machine's cores that this was thought for."""
CUDA_OPTIONS: Mapping[str, str] = {"use_tf32": "0", "arena_extend_strategy": "kSameAsRequested"}
"""Float32 stays float32: TF32 keeps ten bits of a product's factors, which would part a pet from its receipts by far
more than rounding does. And the arena grows by what a turn needs, not by doubling: the device may not be ours alone."""
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
MMAP_BYTES_MIN = 32 * 2**20
"""The most that glibc takes; a prompt of 1,024 tokens needs tensors of 13 MB."""
KEPT_BYTES_MAX = 64 * 2**20
"""What each of glibc's heaps may hold unused: about what the arena held."""
_NO_THREAD = re.compile(r"pthread_create failed, error code: (\d+)")
"""ONNX Runtime has no class for it, and its text is all there is."""
_SEVERITY_WARNING, _SEVERITY_ERROR, _SEVERITY_FATAL = 2, 3, 4


def check_installation() -> str:
    """The installed ONNX Runtime's version string. Refuses both wheels at once, and an old one."""
    present = [name for name in WHEELS if _is_installed(name)]
    if len(present) > 1:
        raise BrainRefused(
            "onnxruntime_twice", "installation", " and ".join(present), "one of them: uninstall the other"
        )
    import onnxruntime

    version: str = onnxruntime.__version__
    check_version(version)
    return version


def check_version(version: str) -> None:
    """Refuse an ONNX Runtime older than `ORT_OLDEST`."""
    numbers = tuple(int(part) if part.isdigit() else 0 for part in version.split(".")[:2])
    if numbers < ORT_OLDEST:
        raise BrainRefused("onnxruntime_old", "onnxruntime", version, "at least {}.{}".format(*ORT_OLDEST))


def _is_installed(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def session_options(numerics: Numerics, threads: int, *, arena: bool = True) -> "onnxruntime.SessionOptions":
    """Options of one CPU ORT session.

    Without `arena` its memory comes from the system: ONNX Runtime's arena lets in one thread at a time, which is what
    lanes over one session wait for (docs/performance.md).

    `exact` unfolds quantised weights to floats at load (no fused int8 kernels): the numbers that the browser computes,
    which sets the same entry. `fast` leaves ONNX Runtime its fusions.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.execution_mode = onnxruntime.ExecutionMode.ORT_SEQUENTIAL
    options.log_severity_level = _SEVERITY_ERROR
    # a plan is kept for every shape seen, and every step of every prompt length is another shape
    options.enable_mem_pattern = False
    options.enable_cpu_mem_arena = arena
    # idle worker threads of a pet host must not burn a core between steps
    options.add_session_config_entry("session.force_spinning_stop", "1")
    if numerics == "exact":
        options.add_session_config_entry("session.disable_quant_qdq", "1")
    return options


def open_session(
    model: bytes,
    numerics: Numerics,
    threads: int,
    subject: str,
    *,
    folder: str | None = None,
    device: Device = CPU,
    arena: bool = True,
) -> "onnxruntime.InferenceSession":
    """An ORT session over a graph's bytes; `folder` holds the weights that lie beside it, if any do.

    Raises `BrainRefused`: `graph_unloadable`, or `cuda_unavailable` when the device is not to be had. ONNX Runtime
    itself would go on with the CPU, after some lines on stderr. `OSError` when the machine has no thread for it, which
    says nothing against the graph.
    """
    import onnxruntime

    options = session_options(numerics, threads, arena=arena)
    if not arena:
        keep_freed_memory()
    if folder is not None:
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", folder)
    providers: list[str | tuple[str, dict[str, str]]] = ["CPUExecutionProvider"]
    if device.kind == "cuda":
        _prepare_cuda(device)
        providers.insert(0, (device.provider, {"device_id": str(device.index), **CUDA_OPTIONS}))
    try:
        with _hushed() if device.kind == "cuda" else contextlib.nullcontext():
            session = onnxruntime.InferenceSession(model, options, providers, enable_fallback=0)
    except Exception as error:  # ORT's exceptions share no base but Exception
        if device.kind == "cuda":  # the CPU has loaded this graph before
            raise _cuda_unavailable(device, str(error)) from None
        if (refused := _NO_THREAD.search(str(error))) is not None:
            number = int(refused[1])
            raise OSError(number, os.strerror(number)) from None
        raise BrainRefused("graph_unloadable", subject, str(error), "a graph that ONNX Runtime loads") from None
    session._model_bytes = b""  # the model's bytes, kept for a fallback to another provider: there is none
    if device.provider not in session.get_providers():
        raise _cuda_unavailable(device, _why_cuda_did_not_load())
    return session


def _prepare_cuda(device: Device) -> None:
    """See that this wheel has the provider, and load the CUDA libraries of the nvidia packages where they lie."""
    import onnxruntime

    if device.provider not in onnxruntime.get_available_providers():
        raise _cuda_unavailable(device, "an onnxruntime without it: onnxruntime-gpu takes its place")
    with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):  # it prints what it does not find
        onnxruntime.preload_dlls(directory="")


@contextlib.contextmanager
def _hushed() -> Iterator[None]:
    """Inside, ONNX Runtime writes no lines of its own: what went wrong is said once, in our words."""
    import onnxruntime

    onnxruntime.set_default_logger_severity(_SEVERITY_FATAL)
    try:
        yield
    finally:
        onnxruntime.set_default_logger_severity(_SEVERITY_WARNING)


def _why_cuda_did_not_load() -> str:
    """What the loader says of the provider's library, a missing one by name as a rule."""
    import onnxruntime

    folder = Path(onnxruntime.__file__).parent / "capi"
    try:
        for part in ("shared", "cuda"):  # in this order: the second needs the first
            ctypes.CDLL(str(folder / f"libonnxruntime_providers_{part}.so"), ctypes.RTLD_GLOBAL)
    except OSError as error:
        return str(error)
    return "a provider that does not start"


def _cuda_unavailable(device: Device, found: str) -> BrainRefused:
    return BrainRefused("cuda_unavailable", f"device {device}", found, "a CUDA device that ONNX Runtime can use")


def keep_freed_memory() -> None:
    """Let glibc keep what a prompt's step frees for the next: by itself it asks the system for each large tensor anew,
    which costs a prompt of 900 tokens a third of its time. Of no effect elsewhere."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, MMAP_BYTES_MIN)
        mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES_MAX)


def return_freed_memory() -> None:
    """Give the system back what opening freed: glibc keeps it, 70 MB behind a graph of 100 MB. No other system does."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def signature(
    session: "onnxruntime.InferenceSession", *, added: Collection[str] = ()
) -> tuple[tuple[TensorInfo, ...], tuple[TensorInfo, ...]]:
    """What the session takes and gives, but for the outputs that were `added` to its file's."""
    outputs = tuple(info for info in _infos(session.get_outputs()) if info.name not in added)
    return _infos(session.get_inputs()), outputs


def _infos(arguments: "Sequence[onnxruntime.NodeArg]") -> tuple[TensorInfo, ...]:
    return tuple(TensorInfo(a.name, a.type, tuple(a.shape or ())) for a in arguments)
