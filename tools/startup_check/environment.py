"""The virtual environment: everything by hash from the lock file, the plain wheel in the GPU wheel's place."""

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
LOCK = ROOT / "tools" / "locks" / "base.txt"
PLAIN, GPU = "onnxruntime", "onnxruntime-gpu"
_BLOCK = re.compile(r"^[A-Za-z0-9][^\n]*\n(?:[ \t]+[^\n]*\n)*", re.MULTILINE)


def cpu_only(lock: str) -> str:
    """The lock file with the plain wheel on every machine and without the GPU one, its hashes kept."""
    blocks = _BLOCK.findall(lock)
    names = [re.split(r"[=\s;]", block, maxsplit=1)[0] for block in blocks]
    assert names.count(PLAIN) == names.count(GPU) == 1, "the lock file holds both wheels, for different machines"
    kept = [
        re.sub(r"^(\S+) ;[^\\\n]*", r"\1 ", block) if name == PLAIN else block
        for name, block in zip(names, blocks, strict=True)
        if name != GPU
    ]
    return "".join(kept)


def make_environment(out: Path) -> Path:
    """A virtual environment in `out` with this checkout installed; its folder of programs."""
    lock = out / "requirements.txt"
    lock.write_text(cpu_only(LOCK.read_text()))
    programs = out / "venv" / "bin"
    _run(sys.executable, "-m", "venv", str(out / "venv"))
    pip = (str(programs / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check", "install")
    _run(*pip, "--require-hashes", "-r", str(lock))
    _run(*pip, "--no-deps", str(ROOT))
    return programs


def runtime_facts(programs: Path) -> dict[str, list[str]]:
    """The ONNX Runtime wheels installed there, and the providers that it offers."""
    script = (
        "import json, importlib.metadata as m, onnxruntime as o\n"
        "names = sorted(d.name for d in m.distributions() if d.name.startswith('onnxruntime'))\n"
        "print(json.dumps({'wheels': names, 'providers': o.get_available_providers()}))"
    )
    done = subprocess.run([str(programs / "python"), "-c", script], capture_output=True, text=True, check=True)
    facts = json.loads(done.stdout)
    return {"wheels": [*map(str, facts["wheels"])], "providers": [*map(str, facts["providers"])]}


def _run(*command: str) -> None:
    subprocess.run(command, check=True)
