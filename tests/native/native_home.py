"""`python native_home.py PROFILE TEMPERATURE_MILLI [stand-in]`: `tokenling serve` at one temperature, on some workers.

Settings come from the environment as for `serve`. The temperature of every request is replaced, so that profiles can be
compared at 0; in the `gpu` profile the CPU's worker is there and takes no turn. Production does neither.
"""

import sys
from dataclasses import replace
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[2])]

from host_pets.failing_gpu import StandIn  # noqa: E402 - found on the path above

from tokenling.cli.brain_loader import load_brain  # noqa: E402
from tokenling.cli.serve import run_serve  # noqa: E402
from tokenling.host import pets, worker  # noqa: E402
from tokenling.host.ports import Gpu  # noqa: E402


class Tempered:
    """A generator that samples at one temperature, whatever a request says."""

    def __init__(self, inner, temperature_milli):
        self._inner = inner
        self._temperature_milli = temperature_milli

    def __getattr__(self, name):
        return getattr(self._inner, name)

    async def generate(self, request, *, turn_id):
        tempered = replace(request, temperature_milli=self._temperature_milli)
        return await self._inner.generate(tempered, turn_id=turn_id)


def loader(temperature_milli, stand_in):
    """`load_brain` with its lanes tempered; with `stand_in` a second CPU lane that is taken for a GPU's."""

    def load(settings):
        brain = load_brain(replace(settings, gpu_device=None) if stand_in else settings)
        gpu = Gpu((StandIn(brain.generators[0]._brain),)) if stand_in else brain.gpu
        if gpu is not None and gpu.generators:
            gpu = Gpu(tuple(Tempered(lane, temperature_milli) for lane in gpu.generators))
        lanes = tuple(Tempered(lane, temperature_milli) for lane in brain.generators)
        return replace(brain, generators=lanes, gpu=gpu)

    return load


def without_the_cpu():
    """From here on a host that has a GPU gives the CPU's worker no turn."""
    make = worker.workers_of

    def made(cpu, gpu):
        router, workers = make(cpu, gpu)
        if gpu is not None and gpu.generators:
            router._benches["cpu"].serves = False
            workers[0]._lost = True
        return router, workers

    pets.workers_of = made


if __name__ == "__main__":
    profile, temperature, *more = sys.argv[1:]
    if profile == "gpu":
        without_the_cpu()
    run_serve(loader(int(temperature), "stand-in" in more), check=False, print_config=False, log_level="warning")
