"""Starts the process of a brain, for a host whose settings give it one (`SUBTOKENLING_BRAIN_PROCESS=own`)."""

import logging
import os
import pickle
import socket
import subprocess
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import tokenling
from tokenling.host.brain_process import BrainProcess, Launched
from tokenling.host.brain_wire import Facts, Frame, Head, Unpacker, WireBroken, facts_in, first_frame, pack
from tokenling.host.exits import ExitCode, HostRefused
from tokenling.host.plan import HostBrain
from tokenling.host.ports import Generator, Gpu
from tokenling.host.settings import PREFIX, Settings

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
        remarks=facts.remarks,
        gpu=_gpu_of(facts, gpu),
        precision=facts.precision,
        process=process,
    )


def _gpu_of(facts: Facts, lanes: tuple[Generator, ...]) -> Gpu | None:
    return None if facts.gpu_failure is None else Gpu(lanes, facts.gpu_failure)


def launch(settings: Settings, *, again: bool) -> Launched:
    """As `Launch` says, for these settings. `HostRefused` gives the reason that the process gave."""
    asked = replace(settings, enrol_code=None, gpu_device=None if again else settings.gpu_device)
    process, ours = _started(settings)
    unpacker = Unpacker()
    try:
        ours.sendall(pack(Frame({"settings": logging.getLevelName(logging.getLogger().level)}, pickle.dumps(asked))))
        head = first_frame(ours, unpacker).head
        return Launched(process, ours, unpacker, facts_in(_accepted(head)))
    except (WireBroken, OSError):
        how = _end(process, ours)
        raise HostRefused(ExitCode.BRAIN, f"brain {settings.model_dir}: its process ended with {how}") from None
    except BaseException:
        _end(process, ours)
        raise


def _started(settings: Settings) -> "tuple[subprocess.Popen[bytes], socket.socket]":
    """A process, and our end of the sockets between us."""
    ours, theirs = socket.socketpair()
    command = [sys.executable, "-m", "tokenling.cli.brain_child", str(theirs.fileno())]
    null = subprocess.DEVNULL
    with theirs:
        try:
            return subprocess.Popen(  # noqa: S603 - our own module
                command, pass_fds=[theirs.fileno()], env=_environment(), stdin=null, stdout=null
            ), ours
        except OSError as failed:  # no memory, or no process, to be had
            ours.close()
            told = f"brain {settings.model_dir}: its process did not start: {failed.strerror}"
            raise HostRefused(ExitCode.BRAIN, told) from None


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


def _end(process: "subprocess.Popen[bytes]", ours: socket.socket) -> str:
    """See it end; how it did."""
    ours.close()
    try:
        process.wait(END_S_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    return f"exit code {process.returncode}"
