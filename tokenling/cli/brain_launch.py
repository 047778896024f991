"""Starts the process of a brain, for a host whose settings give it one (`SUBTOKENLING_BRAIN_PROCESS=own`)."""

import logging
import os
import pickle
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

import tokenling
from tokenling.host.brain_process import BrainProcess, Launched, end_process
from tokenling.host.brain_wire import Facts, Frame, Head, Unpacker, WireBroken, facts_in, first_frame, pack
from tokenling.host.exits import ExitCode, HostRefused
from tokenling.host.plan import HostBrain
from tokenling.host.ports import Generator, Gpu
from tokenling.host.settings import PREFIX, Settings

_STARTER = ThreadPoolExecutor(1, "brain-starter")
"""The thread that starts processes, which lives as long as the host: Linux ends a process that asked to die with its
parent (`brain_child.py`) with the thread that started it, and Trio's own threads end when they are idle."""
END_S_MAX = 5.0
"""A process that refused its brain, or broke, has so long to end by itself before it is killed."""


def load_elsewhere(settings: Settings) -> HostBrain:
    """The brain of the settings in a process of its own, warm. Raises `HostRefused` as if it were opened here."""
    process = BrainProcess(partial(launch, settings))
    cpu, gpu = process.generators()
    facts = process.facts
    return HostBrain(
        brain_id=facts.brain_id,
        features=facts.features,
        directory=settings.model_dir,
        generators=cpu,
        succeeds=facts.succeeds,
        remarks=(f"the brain's lanes run in process {process.pid}, of their own", *facts.remarks),
        gpu=_gpu_of(facts, gpu),
        precision=facts.precision,
        process=process,
    )


def _gpu_of(facts: Facts, lanes: tuple[Generator, ...]) -> Gpu | None:
    return None if facts.gpu_failure is None else Gpu(lanes, facts.gpu_failure)


def launch(settings: Settings, *, again_s: float | None) -> Launched:
    """As `Launch` says, for these settings. `HostRefused` gives the reason that the process gave; where it gave none,
    the exit code is a crash's, for nothing is known against the brain."""
    asked = replace(settings, enrol_code=None, gpu_device=settings.gpu_device if again_s is None else None)
    process, ours = _STARTER.submit(_started, settings).result()
    unpacker = Unpacker()
    try:
        ours.settimeout(again_s)
        ours.sendall(pack(Frame({"settings": logging.getLevelName(logging.getLogger().level)}, pickle.dumps(asked))))
        head = first_frame(ours, unpacker).head
        return Launched(process, ours, unpacker, facts_in(_accepted(head)))
    except TimeoutError:
        process.kill()
        end_process(process, ours, END_S_MAX)
        raise _not_started(settings, f"was not ready after {again_s:.0f} s") from None
    except (WireBroken, OSError):
        raise _not_started(settings, f"ended with {end_process(process, ours, END_S_MAX)}") from None
    except BaseException:
        end_process(process, ours, END_S_MAX)
        raise


def _not_started(settings: Settings, what: str) -> HostRefused:
    return HostRefused(ExitCode.CRASHED, f"brain {settings.model_dir}: its process {what}")


def _started(settings: Settings) -> "tuple[subprocess.Popen[bytes], socket.socket]":
    """A process, and our end of the sockets between us."""
    with ExitStack() as stack:
        try:
            ours, theirs = socket.socketpair()
            stack.enter_context(theirs)
            kept = stack.enter_context(ExitStack())
            kept.enter_context(ours)
            process = subprocess.Popen(  # noqa: S603 - our own module
                [sys.executable, "-m", "tokenling.cli.brain_child", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env=_environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=2 if _is_open(2) else subprocess.DEVNULL,
                process_group=0,  # a terminal's Ctrl-C is meant for the host
            )
        except OSError as failed:  # no memory, no process, no descriptor to be had
            raise _not_started(settings, f"did not start: {failed.strerror}") from None
        kept.pop_all()
        return process, ours


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


def _environment() -> dict[str, str]:
    """Ours without the settings (one is secret) and systemd's socket, with the package where this process has it."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith((PREFIX, "NOTIFY_"))}
    where = [str(Path(tokenling.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**ours, "PYTHONPATH": os.pathsep.join(where), "PYTHONSAFEPATH": "1"}


def _accepted(head: Head) -> Head:
    code, lines = head.get("exit"), head.get("lines")
    if isinstance(code, int) and isinstance(lines, list):
        raise HostRefused(ExitCode(code), *map(str, lines))
    return head
