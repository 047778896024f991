"""Opens the brain that a host runs on. Slow imports (ONNX Runtime) happen here, in the loader's thread."""

from tokenling.host.exits import ExitCode, HostRefused
from tokenling.host.plan import HostBrain
from tokenling.host.settings import GPU_DEVICE, Settings


def load_brain(settings: Settings) -> HostBrain:
    """The brain of the settings with its lanes, each of which has passed a one-token warm-up."""
    from tokenling.host.generator import BrainGenerator
    from tokenling.runtime import BrainError, open_brain, open_lane

    try:
        brain = open_brain(
            settings.model_dir,
            precision=settings.precision,
            numerics=settings.numerics,
            threads=settings.threads,
            brain_id=settings.model_id,
            features=settings.features,
        )
        lanes = [open_lane(brain) for _ in range(settings.cpu_lanes)]
        for lane in lanes:
            lane.warm_up()
    except BrainError as refused:
        raise HostRefused(ExitCode.BRAIN, f"brain {settings.model_dir}: {refused}") from None
    return HostBrain(
        brain_id=brain.id,
        features=brain.features,
        directory=settings.model_dir,
        generators=tuple(BrainGenerator(brain, lane) for lane in lanes),
        succeeds=brain.succeeds,
        remarks=gpu_remarks(settings),
    )


def gpu_remarks(settings: Settings) -> tuple[str, ...]:
    """A line for an operator who asked for a GPU: this version runs turns on the CPU only."""
    if settings.gpu_device is None:
        return ()
    return (f"{GPU_DEVICE.variable} is {settings.gpu_device}: no CUDA worker was started, the CPU serves",)
