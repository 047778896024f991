import subprocess
import sys

import pytest

from tokenling.host.faults import EXCEPTIONS_MAX, FRAMES_MAX, frames_of

SECRET = "the otter said hush"

SCRIPT = """
import logging, sys, threading
import structlog
from tokenling.cli.logs import set_up_logs

SECRET = sys.argv[1]
set_up_logs("debug")

def broken():
    raise ValueError(SECRET)

{body}
"""

LEAKS = {
    "our own logger with an exception": """
try:
    broken()
except ValueError:
    structlog.get_logger("tokenling.host").error("it broke", exc_info=True)
""",
    "another package's template and arguments": 'logging.getLogger("quart.app").error("path %s", SECRET)',
    "another package's exception": """
try:
    broken()
except ValueError:
    logging.getLogger("hypercorn.error").exception("it broke %s", SECRET)
""",
    "another package's extra fields and stack": """
logging.getLogger("asyncio").debug("it broke", extra={"secret": SECRET}, stack_info=True)
""",
    "a chained exception": """
try:
    try:
        broken()
    except ValueError as error:
        raise RuntimeError(SECRET) from error
except RuntimeError as error:
    structlog.get_logger("x").error("it broke", exc_info=error)
""",
    "a group of exceptions": """
structlog.get_logger("x").error("it broke", exc_info=ExceptionGroup(SECRET, [KeyError(SECRET)]))
""",
    "an exception's note": """
error = ValueError("x")
error.add_note(SECRET)
structlog.get_logger("x").error("it broke", exc_info=error)
""",
    "a thread that crashes": """
thread = threading.Thread(target=broken)
thread.start()
thread.join()
""",
    "a finaliser that crashes": """
class Finalised:
    def __del__(self):
        broken()
thing = Finalised()
del thing
print('it broke', file=sys.stderr)
""",
}


def run(body):
    return subprocess.run(
        [sys.executable, "-c", SCRIPT.format(body=body), SECRET], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("body", LEAKS.values(), ids=list(LEAKS))
def test_at_the_most_verbose_level_a_value_stays_out_of(body):
    done = run(body)
    assert done.returncode == 0, done.stderr
    assert SECRET not in done.stderr + done.stdout
    assert done.stderr


def test_a_crash_names_its_type_and_frames_and_ends_with_a_failure():
    done = run("broken()")
    assert done.returncode == 1
    assert SECRET not in done.stderr
    assert 'event=crashed exception="ValueError < <string>:10 broken < <string>:12 <module>"' in done.stderr


def test_every_line_is_one_record():
    done = run('structlog.get_logger("x").info("two\\nlines", n=1)')
    assert len(done.stderr.splitlines()) == 1


def test_the_frames_of_a_deep_recursion_are_bounded():
    def dive(depth):
        if depth == 0:
            raise LookupError
        dive(depth - 1)

    with pytest.raises(LookupError) as caught:
        dive(FRAMES_MAX * 2)
    (line,) = frames_of(caught.value)
    assert line.count(" < ") == FRAMES_MAX


def test_a_group_of_many_exceptions_is_cut_and_a_circular_chain_ends():
    many = ExceptionGroup("x", [ValueError(n) for n in range(EXCEPTIONS_MAX * 2)])
    assert frames_of(many)[EXCEPTIONS_MAX:] == ("…",)
    error = ValueError()
    other = KeyError()
    error.__cause__, other.__cause__ = other, error
    assert frames_of(error) == ("ValueError", "KeyError")
