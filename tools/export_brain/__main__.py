"""`python -m tools.export_brain SOURCE OUT [--precision q4 …]`: a brain directory from its fp16 source."""

import argparse
from pathlib import Path

from tools.export_brain.directory import GRAPH_FILES, load_source, write_brain


def main() -> None:
    """Reads the source folder, writes the brain directory, names what it wrote."""
    parser = argparse.ArgumentParser(prog="tools.export_brain", description=__doc__)
    parser.add_argument("source", type=Path, help="folder with brain-source.json, tokenizer.json, weights.safetensors")
    parser.add_argument("out", type=Path, help="the brain directory")
    parser.add_argument("--precision", nargs="+", choices=tuple(GRAPH_FILES), default=["q4"])
    parser.add_argument("--attention", choices=("plain", "grouped"), default="plain", help="grouped: for a host alone")
    chosen = parser.parse_args()
    write_brain(load_source(chosen.source), chosen.out, chosen.precision, chosen.attention)
    for file in sorted(path for path in chosen.out.rglob("*") if path.is_file()):
        print(f"{file.stat().st_size:>10}  {file.relative_to(chosen.out)}")


if __name__ == "__main__":
    main()
