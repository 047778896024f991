"""From the corpus files of a work folder to its tokenizer and shards."""

import json
from collections.abc import Iterator
from pathlib import Path

from tokenizers import Tokenizer

from tools.train_brain.pieces import EARLIER, OWN, Example, grow_trees, reply_pieces
from tools.train_brain.shards import make_shard
from tools.train_brain.tokenizer import load_tokenizer, train_tokenizer

TOKENIZER_EXAMPLES_MAX = 20_000
"""Examples the tokenizer is trained on; merges no longer changed behind the first few thousand."""


def read_examples(path: Path) -> Iterator[Example]:
    """The examples of a corpus file."""
    with path.open() as lines:
        for line in lines:
            fields = json.loads(line)
            yield Example(
                fields["prompt"],
                fields["reply"],
                fields["mode"],
                fields["answers"],
                fields["fresh"],
                fields.get("shared", 0),
            )


def tokenizer_texts(path: Path) -> Iterator[str]:
    """What the tokenizer is trained on: every piece, the replies three times, for they are what is written."""
    for number, example in enumerate(read_examples(path)):
        if number == TOKENIZER_EXAMPLES_MAX:
            return
        yield example.prompt
        for text, own in reply_pieces(example):
            yield from [text] * (3 if own else 1)


def encode_corpus(work: Path, vocab: int, length: int, tokenizer_file: Path | None) -> str:
    """tokenizer.json and the shards of the folder, of drills where there are some; answers how large they are."""
    made = tokenizer_file or work / "tokenizer.json"
    if tokenizer_file is None:
        train_tokenizer(tokenizer_texts(work / "corpus.jsonl"), vocab).save(str(made))
    elif tokenizer_file != work / "tokenizer.json":
        (work / "tokenizer.json").write_bytes(tokenizer_file.read_bytes())
    tokenizer = load_tokenizer(work / "tokenizer.json")
    told = []
    for file, name in (("corpus", "training"), ("held_out", "held_out"), ("drills", "drills")):
        if (work / f"{file}.jsonl").exists():
            told.append(encode_file(work / f"{file}.jsonl", work / f"{name}.npz", tokenizer, length))
    return "\n".join(told)


def encode_file(lines: Path, made: Path, tokenizer: Tokenizer, length: int) -> str:
    """The shard `made` holds the trees of a corpus file; answers how large it is."""
    shard = make_shard(grow_trees(read_examples(lines), tokenizer, length))
    shard.save(made)
    own, earlier = int((shard.kinds == OWN).sum()), int((shard.kinds == EARLIER).sum())
    return f"{made.stem}: {len(shard)} trees, {len(shard.ids)} text tokens, {own} own, {earlier} earlier"
