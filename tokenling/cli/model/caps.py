"""`tokenling model caps`: what this machine and this build can run."""

import os
import platform
import sys
from collections.abc import Mapping
from importlib import metadata

import click

from tokenling import __version__
from tokenling.cli.model.exits import ModelExit
from tokenling.cli.model.machine import cores, processor, read_memory, temporary_space
from tokenling.cli.model.options import json_option
from tokenling.cli.model.shown import put_json, size, table

USED_PROVIDER = "CPUExecutionProvider"
LIBRARIES = ("onnxruntime", "onnxruntime-gpu", "numpy", "tokenizers", "jinja2")


@click.command("caps")
@json_option
def command(*, as_json: bool) -> None:
    """Show what this machine and build can run: processor and its features, memory, ONNX Runtime and its providers,
    whether each kernel works, architectures, quantisations, tokenizers and the versions of receipts.

    No model is needed. Exit codes: 0, 1 when a kernel does not work here.
    """
    found = capabilities()
    if as_json:
        put_json(found)
    else:
        click.echo(text(found))
    kernels = found["kernels"]
    assert isinstance(kernels, Mapping)
    sys.exit(ModelExit.DONE if all(kernels.values()) else ModelExit.FAILED)


def capabilities() -> Mapping[str, object]:
    """All of it; kernels are tried, not looked up."""
    from tokenling.gguf import ARCHITECTURES, FLOATS, GENERATION_RECEIPT_VERSION, QUANTIZATIONS
    from tokenling.gguf.cache import BUILDER_VERSION
    from tokenling.gguf.kernels import try_kernels
    from tokenling.gguf.pretokenizers import FAMILIES
    from tokenling.gguf.tokenizer import MODELS
    from tokenling.runtime.receipts import processor_features

    memory = read_memory()
    folder, free = temporary_space()
    return {
        "tokenling": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "libraries": {name: found for name in LIBRARIES if (found := version_of(name))},
        "providers": providers(),
        "processor": processor() or platform.machine(),
        "processorFeatures": list(processor_features()[1:]),
        "cores": {"usable": cores(), "all": os.cpu_count() or 1},
        "memoryBytes": None if memory is None else {"total": memory.total, "available": memory.available},
        "temporaryDisk": {"folder": folder, "freeBytes": free},
        "kernels": try_kernels(),
        "architectures": list(ARCHITECTURES),
        "quantisations": {name: form.bits for name, form in QUANTIZATIONS.items()} | dict.fromkeys(FLOATS, 32),
        "tokenizers": list(MODELS),
        "preTokenizers": sorted(FAMILIES),
        "numerics": ["fast", "exact"],
        "versions": {"generationReceipt": GENERATION_RECEIPT_VERSION, "builtGraph": BUILDER_VERSION},
    }


def version_of(name: str) -> str:
    """The installed version of a distribution; empty for none."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def providers() -> Mapping[str, str]:
    """ONNX Runtime's execution providers, and what is done with them here."""
    import onnxruntime

    listed: list[str] = onnxruntime.get_available_providers()
    return {name: "used" if name == USED_PROVIDER else "in the wheel, not used" for name in listed}


def text(found: Mapping[str, object]) -> str:
    """For a person."""
    memory, disk, used = (as_map(found[name]) for name in ("memoryBytes", "temporaryDisk", "cores"))
    rows = [
        ["tokenling", f"{found['tokenling']} on Python {found['python']}, {found['system']}"],
        ["libraries", pairs(found["libraries"])],
        ["providers", pairs(found["providers"], ": ")],
        ["processor", f"{found['processor']}, {used['usable']} of {used['all']} cores"],
        ["features", listed(found["processorFeatures"])],
        ["memory", f"{shown_size(memory.get('available'))} of {shown_size(memory.get('total'))} left"],
        ["disk", f"{shown_size(disk['freeBytes'])} free in {disk['folder']}, where built graphs lie while they open"],
        *([name, "works" if works else "DOES NOT WORK"] for name, works in as_map(found["kernels"]).items()),
        ["architectures", listed(found["architectures"])],
        ["quantisations", pairs(found["quantisations"], ": ") + " bits in fast numerics"],
        ["tokenizers", listed(found["tokenizers"])],
        ["pre-tokenizers", listed(found["preTokenizers"])],
        ["versions", pairs(found["versions"])],
    ]
    return table(rows)


def as_map(value: object) -> Mapping[str, object]:
    """The object, or an empty one for null."""
    return value if isinstance(value, Mapping) else {}


def pairs(value: object, between: str = " ") -> str:
    """An object's members in a line."""
    return ", ".join(f"{name}{between}{member}" for name, member in as_map(value).items())


def listed(value: object) -> str:
    """A list in a line."""
    return ", ".join(map(str, value)) if isinstance(value, list) and value else "none"


def shown_size(value: object) -> str:
    """Bytes, where the system tells them."""
    return size(value) if isinstance(value, int) else "unknown"
