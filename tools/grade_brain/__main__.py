"""`python -m tools.grade_brain BRAIN [--quick]`: the report card of a brain directory, as Markdown."""

import argparse
import json
from pathlib import Path

from tools.grade_brain.answering import open_answering
from tools.grade_brain.card import counterfactuals, grade
from tools.grade_brain.conversation import converse

QUICK_TURNS, FULL_TURNS = 400, 2000
QUICK_STATES, FULL_STATES = 30, 200
SAMPLES = Path(__file__).parent / "conversations.json"


def main() -> None:
    """Prints the card."""
    parser = argparse.ArgumentParser(prog="tools.grade_brain", description=__doc__)
    parser.add_argument("brain", type=Path, help="the brain directory")
    parser.add_argument("--precision", choices=("q4", "q8", "fp32"), default="q4")
    parser.add_argument("--quick", action="store_true", help="fewer turns: about a minute")
    parser.add_argument("--unmasked", action="store_true", help="without the tag mask")
    chosen = parser.parse_args()
    answering = open_answering(chosen.brain, chosen.precision, masked=not chosen.unmasked)
    figures = grade(answering.reply, QUICK_TURNS if chosen.quick else FULL_TURNS)
    figures |= counterfactuals(answering.reply, QUICK_STATES if chosen.quick else FULL_STATES)
    print(f"| {chosen.precision}{' unmasked' if chosen.unmasked else ''} | |\n|---|---|")
    for name, figure in figures.items():
        print(f"| {name} | {figure} |")
    for seed, acts in enumerate(json.loads(SAMPLES.read_text()), start=1):
        print(f"\n```text\n{chr(10).join(converse(answering.reply, seed, acts))}\n```")


if __name__ == "__main__":
    main()
