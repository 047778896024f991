"""`tokenling model inspect`: what a GGUF file holds, from its header."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokenling.cli.model.exits import ModelExit, refusals
from tokenling.cli.model.options import file_argument, json_option
from tokenling.cli.model.shown import amount, put_json, size, table

if TYPE_CHECKING:
    from tokenling.gguf import GgufFile
    from tokenling.gguf.hyperparameters import Hyperparameters
    from tokenling.gguf.summary import Summary, TypeShare


@click.command("inspect")
@file_argument
@click.option("--tensors", "with_tensors", is_flag=True, help="List every tensor too.")
@click.option("--metadata", "with_metadata", is_flag=True, help="List every key too, long values by their size.")
@json_option
def command(*, file: Path, with_tensors: bool, with_metadata: bool, as_json: bool) -> None:
    """Show what FILE holds: architecture, parameters, quantisation, context, tokenizer, template, and what stands in
    the way of running it here, if anything does.

    Only the header is read: a file that is still being downloaded will do. Exit codes: 0, 3 when it is no GGUF file.
    """
    from tokenling.gguf import open_gguf
    from tokenling.gguf.summary import summarize

    with refusals(file), open_gguf(file, header_only=True) as opened:
        summary = summarize(opened)
        if as_json:
            put_json(as_object(opened, summary, with_tensors=with_tensors, with_metadata=with_metadata))
        else:
            click.echo(text(summary))
            if with_metadata:
                click.echo("\n" + table([list(row) for row in metadata_rows(opened).items()]))
            if with_tensors:
                click.echo("\n" + tensor_table(opened))
    sys.exit(ModelExit.DONE)


def text(summary: "Summary") -> str:
    """For a person: a word and a finding a line, then a row for each tensor type."""
    from tokenling.runtime.errors import quote

    h = summary.hyperparameters
    rows = [
        ["name", quote(summary.name) or "not given"],
        ["architecture", quote(summary.architecture) or "not given"],
        ["runs here", f"no: {summary.obstacle}" if summary.obstacle else "yes"],
        ["file", f"{size(summary.size_bytes)}, GGUF version {summary.version}" + _completeness(summary)],
        ["parameters", f"{amount(summary.parameters)}, {summary.bits_per_weight:.2f} bits each"],
        *([] if h is None else _shape_rows(h)),
        ["tokenizer", _tokenizer(summary)],
        ["chat template", f"{summary.vocabulary.template_chars} characters" if summary.vocabulary.template_chars
         else "none: prompts are continued as they stand"],
    ]  # fmt: skip
    return table(rows) + "\n\n" + table([_HEAD, *map(_share_row, summary.shares)], right=(1, 2, 3))


_HEAD = ["type", "tensors", "parameters", "size", "in fast numerics"]
_KERNELS = {4: "4-bit kernel", 8: "8-bit kernel", 32: "float32", 0: "does not run here"}


def _share_row(share: "TypeShare") -> list[str]:
    shown = [share.type, str(share.tensors), amount(share.elements), size(share.size_bytes)]
    return [*shown, _KERNELS[share.kernel_bits]]


def _completeness(summary: "Summary") -> str:
    return "" if summary.is_complete else "; INCOMPLETE: tensor data is missing, only the header can be looked at"


def _shape_rows(h: "Hyperparameters") -> list[list[str]]:
    groups = f"{h.heads} of width {h.head_dim}" + (f", {h.kv_heads} of keys and values" if h.kv_heads < h.heads else "")
    return [
        ["layers", f"{h.layers}, of width {h.hidden}, feed-forward {h.inner}"],
        ["heads", groups],
        ["context", f"{h.positions} tokens"],
        ["vocabulary", f"{h.vocabulary} tokens"],
    ]


def _tokenizer(summary: "Summary") -> str:
    from tokenling.runtime.errors import quote

    found = summary.vocabulary
    if not found.model:
        return "none"
    return quote(found.model) + (f", {quote(found.pre)}" if found.pre else "") + f", {found.tokens} tokens"


def tensor_table(file: "GgufFile") -> str:
    """Each tensor with its type, shape (row-major) and size."""
    from tokenling.runtime.errors import quote

    rows = [
        [quote(tensor.name), tensor.type.name, " x ".join(map(str, tensor.shape)), size(tensor.size_bytes)]
        for tensor in file.tensors.values()
    ]
    return table(rows, right=(3,))


def metadata_rows(file: "GgufFile") -> dict[str, str]:
    """Each key with its value; arrays by their size, texts as one bounded line."""
    from tokenling.gguf.metadata import describe
    from tokenling.runtime.errors import quote

    return {quote(key): quote(describe(value)) for key, value in file.metadata.items()}


def as_object(file: "GgufFile", summary: "Summary", *, with_tensors: bool, with_metadata: bool) -> Mapping[str, object]:
    """For a program. Shapes are row-major."""
    h = summary.hyperparameters
    found: dict[str, object] = {
        "file": str(file.path),
        "parts": len(file.paths),
        "name": summary.name,
        "ggufVersion": summary.version,
        "architecture": summary.architecture,
        "runs": not summary.obstacle,
        "obstacle": summary.obstacle or None,
        "sizeBytes": summary.size_bytes,
        "complete": summary.is_complete,
        "parameters": summary.parameters,
        "bitsPerWeight": round(summary.bits_per_weight, 3),
        "shape": None if h is None else _shape(h),
        "types": [_share(share) for share in summary.shares],
        "tokenizer": {"model": summary.vocabulary.model or None, "pre": summary.vocabulary.pre or None,
                      "tokens": summary.vocabulary.tokens},
        "chatTemplateChars": summary.vocabulary.template_chars,
    }  # fmt: skip
    if with_metadata:
        found["metadata"] = metadata_rows(file)
    if with_tensors:
        found["tensors"] = [
            {"name": tensor.name, "type": tensor.type.name, "shape": list(tensor.shape), "sizeBytes": tensor.size_bytes}
            for tensor in file.tensors.values()
        ]
    return found


def _share(share: "TypeShare") -> Mapping[str, object]:
    return {
        "type": share.type,
        "tensors": share.tensors,
        "parameters": share.elements,
        "sizeBytes": share.size_bytes,
        "kernelBits": share.kernel_bits or None,
    }


def _shape(h: "Hyperparameters") -> Mapping[str, int]:
    return {
        "layers": h.layers,
        "hidden": h.hidden,
        "feedForward": h.inner,
        "heads": h.heads,
        "kvHeads": h.kv_heads,
        "headDim": h.head_dim,
        "vocabulary": h.vocabulary,
        "contextTokens": h.positions,
    }
