"""`python odd_brain.py DESCRIPTOR HOW MARK`: a brain's process that is well, or not; the file `MARK` outlives it."""

import os
import socket
import sys
from dataclasses import replace
from pathlib import Path

from host_pets.failing_gpu import StandIn
from tokenling.cli.brain_files import SHIPPED_BRAIN, shipped_brain_dir
from tokenling.host.brain_serving import facts_of, serve_turns
from tokenling.host.brain_wire import Frame, pack
from tokenling.host.generator import BrainGenerator
from tokenling.host.plan import HostBrain
from tokenling.host.ports import Gpu
from tokenling.runtime import open_brain, open_lane


class Odd(BrainGenerator):
    """A lane that ends its process, or says what is no frame, instead of an answer."""

    how = ""
    mark = Path()
    held = socket.socket()

    async def generate(self, request, *, turn_id):
        if self.how == "once" and self.mark.exists():
            return await super().generate(request, turn_id=turn_id)
        self.mark.write_text("was here")
        if self.how == "nonsense":
            self.held.send(b"\xff" * 8)
            return await super().generate(request, turn_id=turn_id)
        if self.how == "no answer":
            self.held.send(pack(Frame({"turn": 1, "text": 7})))
            return await super().generate(request, turn_id=turn_id)
        os._exit(7)


def main():
    descriptor, how, mark = sys.argv[1:]
    held = Odd.held = socket.socket(fileno=int(descriptor))
    Odd.how, Odd.mark = how, Path(mark)
    brain = open_brain(shipped_brain_dir())
    lane = open_lane(brain)
    gpu = None
    if how == "gpu":
        stand_in = StandIn(brain)
        stand_in.session.fail_at = 3
        gpu = Gpu((stand_in,))
    if how == "gpu dies":
        lane_there = open_lane(brain)
        lane_there.provider = "CUDAExecutionProvider"
        gpu = Gpu((Odd(brain, lane_there),))
    kind = BrainGenerator if how in ("gpu", "gpu dies", "well") else Odd
    told = HostBrain(SHIPPED_BRAIN, brain.features, shipped_brain_dir(), (kind(brain, lane),), gpu=gpu)
    if how == "other":
        told = replace(told, brain_id="sprout-99" if Odd.mark.exists() else SHIPPED_BRAIN)
    held.sendall(pack(Frame(facts_of(told).head())))
    serve_turns(held, told)
    os._exit(0)


if __name__ == "__main__":
    main()
