"""`python -m tools.convert_hf SOURCE OUT --id ID`: a brain directory from a local Hugging Face directory."""

import argparse
import sys
from pathlib import Path

from tokenling.engine import PROMPT_VERSION
from tools.convert_hf.directory import convert
from tools.convert_hf.safetensors import SourceRefused
from tools.export_brain.directory import GRAPH_FILES


def main() -> None:
    """Writes the brain and names its files; a source that cannot be converted ends with exit code 2 and a line why."""
    parser = argparse.ArgumentParser(prog="tools.convert_hf", description=__doc__)
    parser.add_argument("source", type=Path, help="folder with config.json, tokenizer.json, model*.safetensors")
    parser.add_argument("out", type=Path, help="the brain directory, new or empty")
    parser.add_argument("--id", required=True, help="the brain's id: other bytes need another id")
    parser.add_argument("--feature", action="append", default=[], help="a feature of the brain; may be repeated")
    parser.add_argument("--succeeds", action="append", default=[], help="an id it may take pets over from")
    parser.add_argument("--prompt-version", type=int, default=PROMPT_VERSION, help="which prompts it understands")
    parser.add_argument("--precision", nargs="+", choices=tuple(GRAPH_FILES), default=tuple(GRAPH_FILES))
    chosen = parser.parse_args()
    try:
        convert(
            chosen.source, chosen.out, brain_id=chosen.id, features=chosen.feature, succeeds=chosen.succeeds,
            prompt_version=chosen.prompt_version, precisions=chosen.precision,
        )  # fmt: skip
    except SourceRefused as refusal:
        print(refusal, file=sys.stderr)
        sys.exit(2)
    for file in sorted(path for path in chosen.out.rglob("*") if path.is_file()):
        print(f"{file.stat().st_size:>10}  {file.relative_to(chosen.out)}")


if __name__ == "__main__":
    main()
