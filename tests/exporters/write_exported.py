"""Write `tests/runtime/exported/`: the small foreign exports that the default tests load, and their sources.

    python tests/exporters/write_exported.py            (in the environment of `nox -s exporters`)

Exporters' notes (stack traces, machine paths among them) are taken out; nodes, names and numbers are theirs.
"""

import tempfile
import zipfile
from pathlib import Path

import exporting
import onnx
import tiny_models

OUT = Path(__file__).parents[1] / "runtime" / "exported"
DOCUMENTS = ("config.json", "tokenizer.json", "greedy.json")
EXPORT_FILES = (*DOCUMENTS, exporting.GRAPH, exporting.QUANTISED)
SOURCE_FILES = (*DOCUMENTS, "model.safetensors")


def without_notes(graph: Path) -> bytes:
    """The graph's bytes without doc strings and exporter metadata."""
    model = onnx.load(graph)
    parts = [model, model.graph, *model.graph.node, *model.graph.input, *model.graph.output]
    for part in [*parts, *model.graph.initializer, *model.functions]:
        part.ClearField("metadata_props")
        part.ClearField("doc_string")
    model.graph.ClearField("value_info")
    return bytes(model.SerializeToString(deterministic=True))


def pack(path: Path, files: tuple[str, ...]) -> None:
    """One directory as an archive whose bytes depend on its files alone."""
    with zipfile.ZipFile(OUT / f"{path.name}.zip", "w") as archive:
        for name in files:
            data = without_notes(path / name) if name.endswith(".onnx") else (path / name).read_bytes()
            info = zipfile.ZipInfo(name, date_time=(2026, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, data, compresslevel=9)


def main() -> None:
    """All model types by all exporters."""
    OUT.mkdir(exist_ok=True)
    for model_type in tiny_models.CONFIGS:
        for exporter in exporting.EXPORTERS:
            with tempfile.TemporaryDirectory() as folder:
                pack(exporting.export(model_type, exporter, Path(folder)), EXPORT_FILES)
                pack(Path(folder) / f"{model_type}-source", SOURCE_FILES)


if __name__ == "__main__":
    main()
