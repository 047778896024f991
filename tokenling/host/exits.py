"""How a host process ends: its exit codes, and the one error that carries one."""

from enum import IntEnum


class ExitCode(IntEnum):
    """What `serve` and `preview` exit with (docs/operations.md shows the same table)."""

    STOPPED = 0
    CRASHED = 1
    SETTINGS = 2
    BRAIN = 3
    DATABASE = 4


class HostRefused(Exception):
    """Raised when the host cannot start. `lines` tell the operator why, one cause each; nothing was changed."""

    code = "host_refused"

    def __init__(self, exit_code: ExitCode, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.exit_code = exit_code
        self.lines = lines
