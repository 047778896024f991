"""Whether a file's tokenizer here finds the ids that llama.cpp's finds, over random hostile texts.

    python -m tools.bench.gguf_tokens --gguf FILE --node-modules LLAMA/node_modules --texts 5000

Prints one JSON line: how many texts were compared, plain and with special tokens read, and those that differ.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from tokenling.gguf import gguf_tokenizer, open_gguf
from tools.bench.decode_llama_cpp import read_line

sys.path.append(str(Path(__file__).parents[2] / "tests" / "gguf"))
SHOWN = 5


def main() -> None:
    """Compare, print, and say by the exit code whether all agreed."""
    from hostile_text import hostile_texts  # type: ignore[import-not-found]  # of the tests

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gguf", type=Path, required=True)
    parser.add_argument("--node-modules", type=Path, required=True)
    parser.add_argument("--texts", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    with open_gguf(chosen.gguf) as file:
        tokenizer = gguf_tokenizer(file)
    special = [tokenizer.tokenizer.id_to_token(token) or "" for token in tokenizer.stop_ids]
    texts = [(text, place % 2 == 1) for place, text in enumerate(hostile_texts(chosen.texts, chosen.seed, special))]
    theirs = ids_of_llama_cpp(chosen.gguf, chosen.node_modules, texts)
    different = [
        {"text": text, "special": read, "ours": ours, "theirs": ids}
        for (text, read), ids in zip(texts, theirs, strict=True)
        if (ours := tokenizer.encode(text, special=read, bos=False, eos=False)) != ids
    ]
    print(json.dumps({"texts": len(texts), "different": len(different), "first": different[:SHOWN]}))
    sys.exit(bool(different))


def ids_of_llama_cpp(gguf: Path, modules: Path, texts: list[tuple[str, bool]]) -> list[list[int]]:
    """llama.cpp's ids of each text, special tokens read out of it or not."""
    script = Path(__file__).with_name("llama_cpp_tokens.mjs")
    command = ["node", str(script), str(modules.resolve()), str(gguf.resolve())]
    found: list[list[int]] = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        read_line(process.stdout)
        for text, special in texts:
            process.stdin.write(json.dumps({"text": text, "special": special}) + "\n")
            process.stdin.flush()
            answer = json.loads(json.dumps(read_line(process.stdout)))
            found.append(answer["ids"])
        process.stdin.close()
    return found


if __name__ == "__main__":
    main()
