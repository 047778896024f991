"""Opens the brain that a host runs on. Slow imports (ONNX Runtime) happen here, in the loader's thread."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tokenling.cli.brain_opening import BrainChoice, open_chosen
from tokenling.host.exits import ExitCode, HostRefused
from tokenling.host.faults import lack_in
from tokenling.host.plan import HostBrain
from tokenling.host.settings import FEATURES, GPU_DEVICE, MODEL_DIR, MODEL_DTYPE, MODEL_ID, Setting, Settings

if TYPE_CHECKING:
    from tokenling.host.ports import Gpu
    from tokenling.runtime import Brain, TurnRunner


def load_brain(settings: Settings) -> HostBrain:
    """The brain of the settings with its lanes, over an ORT session that has passed a warm-up; in a process of its own
    where the settings say so.

    A GPU that was asked for and does not start is told, and harms nothing.
    """
    if settings.brain_process == "own":
        from tokenling.cli.brain_launch import load_elsewhere

        return load_elsewhere(settings)
    return load_here(settings)


def load_here(settings: Settings) -> HostBrain:
    """The brain with its lanes in this process."""
    from tokenling.host.generator import BrainGenerator
    from tokenling.runtime import BrainError, open_lane

    choice = BrainChoice(
        settings.model_dir,
        precision=settings.precision if settings.precision_is_set else None,
        numerics=settings.numerics,
        threads=settings.threads,
        lanes=settings.cpu_lanes,
        brain_id=settings.model_id,
        features=settings.features,
        graphs=graphs_beside(settings.database),
    )
    try:
        brain = open_chosen(choice)
        open_lane(brain).warm_up()
    except BrainError as refused:
        raise HostRefused(
            ExitCode.BRAIN, f"brain {settings.model_dir}: {refused}{setting_hint(refused.code)}"
        ) from None
    except OSError as failed:  # no room for a built graph, a file that cannot be read
        if lack_in(failed) is not None:  # nothing against the brain: the host names the limit, and may be started again
            raise
        raise HostRefused(ExitCode.BRAIN, f"brain {settings.model_dir}: {failed.strerror or failed}") from None
    lanes, batching = open_cpu(settings, brain)
    gpu = open_gpu(settings, brain)
    return HostBrain(
        brain_id=brain.id,
        features=brain.features,
        directory=settings.model_dir,
        generators=tuple(BrainGenerator(brain, lane) for lane in lanes),
        succeeds=brain.succeeds,
        precision=brain.precision,
        remarks=(*batching, *gpu_remarks(settings, gpu)),
        gpu=gpu,
        files=tuple(f"{name} {digest}" for name, digest in sorted(brain.file_sha256.items())),
    )


def graphs_beside(database: Path) -> Path:
    """Where a GGUF file's built graph is kept, so that a restart need not build it again."""
    return database.with_name(database.name + ".graphs")


SETTINGS_OF: Mapping[str, tuple[Setting[object], ...]] = {
    "brain_json_missing": (MODEL_ID, FEATURES),
    "id_mismatch": (MODEL_ID,),
    "features_mismatch": (FEATURES,),
    "file_missing": (MODEL_DTYPE, MODEL_DIR),
    "gguf_precision": (MODEL_DTYPE,),
    "gguf_several": (MODEL_DIR,),
    "model_type_unsupported": (MODEL_DIR,),
}
"""The runtime's codes that a setting can mend."""


def setting_hint(code: str) -> str:
    """Which settings a refusal of this code is about, for the end of its line."""
    names = ", ".join(setting.variable for setting in SETTINGS_OF.get(code, ()))
    return f"; see {names}" if names else ""


def open_cpu(settings: Settings, brain: "Brain") -> "tuple[Sequence[TurnRunner], tuple[str, ...]]":
    """Who writes turns on the CPU, an entry for each turn at a time, and what the operator should be told of it.

    Where the graph or the machine cannot batch, lanes write one turn at a time.
    """
    from tokenling.runtime import BatchLane, BatchPool, BrainRefused, open_lane, open_rows

    if settings.batch_rows > 1:
        try:
            graphs = open_rows(brain, settings.model_dir, settings.batch_rows)
        except BrainRefused as refused:
            remark = (f"each CPU lane writes one turn at a time: {refused}",)
            return [open_lane(brain) for _ in range(settings.cpu_lanes)], remark
        pool = BatchPool([BatchLane(brain, graphs) for _ in range(settings.cpu_lanes)])
        return [pool] * pool.rows_max, ()
    return [open_lane(brain) for _ in range(settings.cpu_lanes)], ()


def open_gpu(settings: Settings, brain: "Brain") -> "Gpu | None":
    """The same brain's lane on the CUDA device of the settings, warm, or why there is none; None: nobody asked."""
    from tokenling.host.generator import BrainGenerator
    from tokenling.host.ports import Gpu
    from tokenling.runtime import BrainError, on_cuda, open_lane

    if settings.gpu_device is None:
        return None
    if brain.precision == "gguf":
        return Gpu((), "a graph that was built of a GGUF file runs on the CPU only")
    try:
        there = on_cuda(brain, settings.model_dir, index=settings.gpu_device)
        lane = open_lane(there)
        lane.warm_up()
    except BrainError as refused:
        return Gpu((), str(refused))
    except Exception as error:  # a driver's own failures, whatever their class: the CPU serves all the same
        return Gpu((), type(error).__name__)
    return Gpu((BrainGenerator(there, lane),))


def gpu_remarks(settings: Settings, gpu: "Gpu | None") -> tuple[str, ...]:
    """What became of a GPU that was asked for, for its operator."""
    if gpu is None:
        return ()
    asked = f"{GPU_DEVICE.variable} is {settings.gpu_device}"
    if gpu.failure:
        return (f"{asked}: no CUDA worker was started, the CPU serves: {gpu.failure}",)
    return (f"{asked}: a CUDA worker serves beside the CPU",)
