"""Opens the brain that a host runs on. Slow imports (ONNX Runtime) happen here, in the loader's thread."""

from collections.abc import Mapping
from pathlib import Path

from tokenling.cli.brain_opening import BrainChoice, open_chosen
from tokenling.host.exits import ExitCode, HostRefused
from tokenling.host.plan import HostBrain
from tokenling.host.settings import FEATURES, GPU_DEVICE, MODEL_DIR, MODEL_DTYPE, MODEL_ID, Setting, Settings


def load_brain(settings: Settings) -> HostBrain:
    """The brain of the settings with its lanes, each of which has passed a one-token warm-up."""
    from tokenling.host.generator import BrainGenerator
    from tokenling.runtime import BrainError, open_lane

    choice = BrainChoice(
        settings.model_dir,
        precision=settings.precision if settings.precision_is_set else None,
        numerics=settings.numerics,
        threads=settings.threads,
        brain_id=settings.model_id,
        features=settings.features,
        graphs=graphs_beside(settings.database),
    )
    try:
        brain = open_chosen(choice)
        lanes = [open_lane(brain) for _ in range(settings.cpu_lanes)]
        for lane in lanes:
            lane.warm_up()
    except BrainError as refused:
        raise HostRefused(
            ExitCode.BRAIN, f"brain {settings.model_dir}: {refused}{setting_hint(refused.code)}"
        ) from None
    except OSError as failed:  # no room for a built graph, a file that cannot be read
        raise HostRefused(ExitCode.BRAIN, f"brain {settings.model_dir}: {failed.strerror or failed}") from None
    return HostBrain(
        brain_id=brain.id,
        features=brain.features,
        directory=settings.model_dir,
        generators=tuple(BrainGenerator(brain, lane) for lane in lanes),
        succeeds=brain.succeeds,
        precision=brain.precision,
        remarks=gpu_remarks(settings),
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


def gpu_remarks(settings: Settings) -> tuple[str, ...]:
    """A line for an operator who asked for a GPU: this version runs turns on the CPU only."""
    if settings.gpu_device is None:
        return ()
    return (f"{GPU_DEVICE.variable} is {settings.gpu_device}: no CUDA worker was started, the CPU serves",)
