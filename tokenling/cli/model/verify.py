"""`tokenling model verify`: run a generation again from its receipt."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from tokenling.cli.console import refuse
from tokenling.cli.model.exits import ModelExit, refusals
from tokenling.cli.model.loading import load, opened_texts
from tokenling.cli.model.options import cache_option, json_option, threads_option
from tokenling.cli.model.shown import put_json
from tokenling.cli.verify import EXITS, sentence
from tokenling.cli.waiting import read_all

if TYPE_CHECKING:
    from tokenling.gguf import GenerationReceipt
    from tokenling.runtime import Verdict


@click.command("verify")
@click.argument("receipt", type=click.File("rb"))
@click.option(
    "--model",
    type=click.Path(path_type=Path),
    help="The file that wrote it.  [default: the one the receipt names, beside it or here]",
)
@threads_option
@cache_option
@json_option
def command(*, receipt: BinaryIO, model: Path | None, threads: int, cache_dir: Path | None, as_json: bool) -> None:
    """Run the generation of RECEIPT (of `run` or `chat`, `-` for standard input) again and say whether it wrote the
    same.

    Exit codes: 0 identical or near tie, 1 different, 2 not provable here or no receipt, 3 the model is not here or does
    not open, 4 a cache that cannot be written.
    """
    from tokenling.gguf import parse_generation_receipt
    from tokenling.gguf.receipts import RECEIPT_BYTES_MAX

    data = read_all(receipt, RECEIPT_BYTES_MAX + 1)
    with refusals(model or Path("of the receipt")):
        found = parse_generation_receipt(data)
        path = model or model_of(found, Path(getattr(receipt, "name", "")).parent)
    with refusals(path):
        verdict = verdict_of(found, data, path, threads, cache_dir)
    if as_json:
        put_json({"verdict": verdict.kind, "subject": verdict.subject or None, "token": verdict.step})
    else:
        click.echo(sentence(verdict))
    sys.exit(EXITS[verdict.kind])


def model_of(receipt: "GenerationReceipt", folder: Path) -> Path:
    """The first file that the receipt names, in its own folder or in this one."""
    files = receipt.fields["files"]
    name = next(iter(files), "") if isinstance(files, dict) else ""
    if not name or Path(name).name != name:
        refuse(ModelExit.OPTIONS, ["receipt files: found no file's name, expected the model's"])
    found = [path for path in (folder / name, Path(name)) if path.is_file()]
    if not found:
        refuse(ModelExit.MODEL, [f"model {name}: not beside the receipt and not here; --model FILE says where it is"])
    return found[0]


def verdict_of(
    receipt: "GenerationReceipt", data: bytes, path: Path, threads: int, cache_dir: Path | None
) -> "Verdict":
    """The verdict of the model at `path`. Raises `GgufRefused`."""
    from tokenling.gguf import GgufUnsupported, verify_generation
    from tokenling.runtime import Verdict

    if receipt.fields["numerics"] != "exact":
        return Verdict("not_provable_here", "numerics")  # no model is needed to say so
    positions = receipt.fields["positions"]
    assert isinstance(positions, int)
    try:
        with opened_texts(path, max(0, positions)) as texts:
            loaded = load(texts, "exact", threads=threads, cache_dir=cache_dir, digests=True)
    except GgufUnsupported as refused:
        if refused.code != "positions_range":
            raise
        return Verdict("different", "positions")  # this model has no sequence of such a length
    return verify_generation(data, loaded.model, loaded.lane)
