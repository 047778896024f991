"""Write `tests/runtime/decode_vectors.json`: what the page's decoder must do, as the runtime's own does it.

Masks of tags over a small hostile vocabulary, whole turns over made-up logits, texts out of broken bytes, prompts cut
to a budget, canonical JSON. `python -m tools.make_decode_vectors` writes them; `--check` fails if the committed file
differs from what the runtime does now.

Logits are integers of a hash over (turn, row, id), so that JavaScript can make the same ones: see `logit`.
"""

import hashlib
import json
import math
import random
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tokenling.engine.request import GenerationRequest
from tokenling.runtime.documents import JsonValue, canonical_json
from tokenling.runtime.errors import GenerationRefused
from tokenling.runtime.plan import DecodePlan, Sampling
from tokenling.runtime.receipts import sha256
from tokenling.runtime.requests import request_json
from tokenling.runtime.sampling import Logits, could_choose
from tokenling.runtime.tags import NEVER, OUTSIDE, State, TagMask, TokenIndex, make_mask
from tokenling.runtime.text_stream import TextStream
from tokenling.runtime.tokenizer import TokenTable
from tokenling.runtime.turn import fit_prompt
from tokenling.runtime.writer import Writer

ROOT = Path(__file__).parent.parent
TARGET = ROOT / "tests" / "runtime" / "decode_vectors.json"
TURNS = 240
ROWS = 8
"""Rows of logits of one turn; step n sees row n modulo this."""
OPENING_LOVE = 20
NEAR_EVERY = 8
"""Steps of which one tells which ids a near replay may have chosen: each asks for every id."""
MASK32 = 0xFFFF_FFFF
EOS = 0

ODD = [
    *(b"[eat", b"] [", b"[nap][nod]", b" [", b"[play ", b"ball]", b"]\n", b"][", b"[look]", b"[look] x", b"\xc3"),
    *(b"\xa9]", b"a\xe2\x82", b"\xac", b"[recall ", b"[recall a]", b"l]b", b"x" * 30, b"\xf0\x9f", b"\x99\x82]"),
    *(b"]]", b"[[", b"[\xc3", "日本語".encode(), b"ll all] ok", b"\n\n", b"]", b"e [nod] e", "é]".encode()),
    *("\ufeff".encode(), "\ufeffa".encode(), b" the", "🙂".encode(), b"\xed\xa0\x80", b"\xc0\x80"),
]
"""Tokens across every border: brackets inside, half characters, a mark of byte order, bytes that are no UTF-8."""
TABLES: dict[str, tuple[bytes | None, ...]] = {
    "bytes": (b"", b"", None, *(bytes((byte,)) for byte in range(256)), *ODD),
    "words": (b"", None, *(bytes((byte,)) for byte in b"aelmnopt ]"), *ODD, None),
}
"""Every single byte and the odd ones; and a vocabulary that cannot complete every character nor spell every tag."""
TAG_SETS: list[tuple[list[str], dict[str, int]]] = [
    (
        ["[eat]", "[nap]", "[nod]", "[play ball]", "[play kite]", "[recall …]", "[recall all]", "[look]", "[é]"],
        {"[look]": 3},
    ),
    (["[eat]", "[look weather]", "[look time]", "[remember …]"], {"[look weather]": 2, "[look time]": 40}),
    ([], {}),
    (["[look]"], {"[look]": 2}),
    (["[😀 …]", "[nap]", "[n]", "[na …]"], {"[nap]": 1}),
]


def mixed(turn: int, row: int, token: int) -> int:
    """A hash of three small integers, 32 bits; in JavaScript by `Math.imul` and `>>>`."""
    value = (turn * 0x9E3779B1 ^ row * 0x85EBCA77 ^ token * 0xC2B2AE3D) & MASK32
    value = ((value ^ value >> 15) * 0x2C1B3C6D) & MASK32
    value = ((value ^ value >> 12) * 0x297A2D39) & MASK32
    return value ^ value >> 15


def logit(turn: int, row: int, token: int) -> float:
    """One made-up logit, exact in float32: some turns nearly flat, some steep, a third of the tokens loved."""
    value = mixed(turn, row, token)
    spread, love = (1024, 128, 32)[turn % 3], (0, 6, 25)[turn // 3 % 3]
    return (value % 4096 - 2048) / spread + (love if (value >> 20) % 3 == 0 else 0)


def rows_of(turn: int, index: TokenIndex) -> list[Logits]:
    """The turn's rows; in every other turn tokens that open a tag are loved twice, or few tags would be written."""
    rows = [np.array([logit(turn, row, token) for token in range(index.size)], dtype=np.float32) for row in range(ROWS)]
    for row in rows:
        row[index.opening] += OPENING_LOVE * (turn % 2)
    return rows


def tables_json() -> dict[str, JsonValue]:
    """Each vocabulary as hexadecimal bytes, null for an id that no token has."""
    return {name: [None if data is None else data.hex() for data in table] for name, table in TABLES.items()}


def masks() -> list[JsonValue]:
    """What each set of tags lets be written along the ways into it."""
    made: list[JsonValue] = []
    for name, table in TABLES.items():
        index = TokenIndex(TokenTable(table))
        for tags, insertions in TAG_SETS:
            mask = make_mask(index, tags, insertions)
            places: list[JsonValue] = [place(mask, state, way) for way, state in ways_into(mask, index)]
            made.append({"table": name, "tags": tags, "insertions": insertions, "places": places})
    return made


def ways_into(mask: TagMask, index: TokenIndex) -> list[tuple[list[int], State]]:
    """Ways of tokens from outside into tags, a few random ones for each depth, and long free texts."""
    rng = random.Random(7)  # noqa: S311 - vectors, not secrets
    found: list[tuple[list[int], State]] = [([], OUTSIDE)]
    for _ in range(14):
        way: list[int] = []
        state = OUTSIDE
        for _ in range(rng.choice([1, 2, 4, 8, 45])):
            inside = [token for token in range(index.size) if mask.costs(state)[token] < NEVER]
            opening = [token for token in inside if state or token in index.opening]
            if not opening:
                break
            way.append(rng.choice(opening))
            state = mask.walk(state, way[-1]).state
        found.append((way, state))
    return found


def place(mask: TagMask, state: State, way: list[int]) -> JsonValue:
    """The ids by what must follow them, what closing costs, and where each tag-like token leads."""
    costs = mask.costs(state)
    by_cost = {str(cost): np.flatnonzero(costs == cost).tolist() for cost in np.unique(costs).tolist() if cost < NEVER}
    labels = {}
    for token in np.flatnonzero(costs < NEVER).tolist()[:60]:
        label = mask.label(state, token)
        if label is not None:
            labels[str(token)] = [label, list(mask.walk(state, token).closed)]
    spans = {cost: runs(ids) for cost, ids in by_cost.items()}
    return {"way": way, "closing": mask.closing_cost(state), "costs": spans, "labels": labels}


def runs(ids: Sequence[int]) -> list[JsonValue]:
    """`[3, 4, 5, 9]` as `[[3, 5], 9]`."""
    found: list[list[int]] = []
    for number in ids:
        if found and found[-1][-1] == number - 1:
            found[-1] = [found[-1][0], number]
        else:
            found.append([number])
    return [run[0] if len(run) == 1 else list(run) for run in found]


def turns() -> list[JsonValue]:
    """Whole turns of the writer: tokens, text, stop, lookups, choices, near ties."""
    made: list[JsonValue] = []
    for turn in range(TURNS):
        rng = random.Random(turn)  # noqa: S311 - vectors, not secrets
        name = rng.choice(["bytes", "bytes", "words"])
        index = TokenIndex(TokenTable(TABLES[name]))
        tags, lengths = rng.choice(TAG_SETS)
        constrained = rng.random() < 0.9
        plan = DecodePlan(
            prompt_ids=(5,),
            max_new=rng.choice([1, 2, 5, 12, 30, 60]),
            sampling=Sampling(*rng.choice(SETTINGS), seed=rng.choice([0, 1, 2**32, 2**53 - 1, rng.randrange(2**53)])),
            stops=rng.choice([("\n",), ("\n\n",), (), ("aa", "\n\n")]),
            constraint=tuple(tags) if constrained else None,
            insertions={tag: tuple(range(5, 5 + size)) for tag, size in lengths.items()} if constrained else {},
            insertions_max=rng.choice([0, 1, 3]),
            ignore_eos=rng.random() < 0.2,
        )
        made.append({"turn": turn, "table": name, "plan": plan_json(plan), **written(plan, index, turn)})
    return made


SETTINGS = [(850, 40, 920), (0, 40, 920), (1000, 0, 1000), (400, 5, 500), (3000, 300, 999), (100_000, 12, 0)]
"""Temperature, top-k, top-p."""


def plan_json(plan: DecodePlan) -> dict[str, JsonValue]:
    sampling = plan.sampling
    return {
        "maxNew": plan.max_new,
        "sampling": [sampling.temperature_milli, sampling.top_k, sampling.top_p_milli, sampling.seed],
        "stops": list(plan.stops),
        "constraint": None if plan.constraint is None else list(plan.constraint),
        "insertions": {tag: list(ids) for tag, ids in plan.insertions.items()},
        "insertionsMax": plan.insertions_max,
        "ignoreEos": plan.ignore_eos,
    }


def written(plan: DecodePlan, index: TokenIndex, turn: int) -> dict[str, JsonValue]:
    """What the writer made of the turn's rows, and at each step which ids a near replay may have chosen."""
    writer = Writer(plan, index, [EOS])
    feeds: list[JsonValue] = []
    near: dict[str, JsonValue] = {}
    rows = rows_of(turn, index)
    feed: tuple[int, ...] = (0,)
    while feed:
        step = len(writer.token_ids)
        feed = writer.write(rows[step % ROWS])
        feeds.append(len(feed))
        if step % NEAR_EVERY == 0:
            legal = writer.legal
            near[str(step)] = runs([one for one in range(index.size) if could_choose(legal, plan.sampling, step, one)])
    return {
        "tokens": list(writer.token_ids),
        "text": writer.text,
        "stop": writer.stop,
        "insertionsUsed": list(writer.insertions_used),
        "nearTies": list(writer.near_ties),
        "choices": [[choice.step, dict(choice.shares_ppm)] for choice in writer.choices],
        "feeds": feeds,
        "couldChoose": near,
    }


def texts() -> list[JsonValue]:
    """Pieces of bytes and what leaves at each, broken UTF-8 and stops across pieces included."""
    rng = random.Random(3)  # noqa: S311 - vectors, not secrets
    parts = [
        b"a",
        b"\n",
        "é".encode(),
        "日".encode(),
        "🙂".encode(),
        b"\x80",
        b"\xc3",
        b"\xe0\x80",
        b"\xf4\x90",
        b"\xed\xa0\x80",
    ]
    made: list[JsonValue] = []
    for _ in range(120):
        data = b"".join(rng.choice(parts) for _ in range(rng.randrange(1, 12)))
        cuts = sorted(rng.sample(range(len(data) + 1), k=min(len(data), rng.randrange(4))))
        pieces = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
        stops = rng.choice([["\n"], ["\n\n"], [], ["éa", "a\n"]])
        stream = TextStream(stops)
        out = []
        for piece in pieces:
            out.append(stream.push(piece))
            if stream.stopped:
                break
        rest = "" if stream.stopped else stream.finish()
        made.append({"pieces": [piece.hex() for piece in pieces], "stops": stops, "out": out, "rest": rest})
    return made


class CountingTokenizer:
    """Three bytes are a token, a newline before an "O" is one more: joined texts come out shorter or longer."""

    def encode(self, text: str) -> tuple[int, ...]:
        data = text.encode()
        whole = [data[at] for at in range(0, len(data), 3)]
        return (*whole, *(256 for _ in range(text.count("\nO"))))

    def tokens_max(self, _text: str) -> float:
        return math.inf


def fits() -> list[JsonValue]:
    """Requests, budgets, and the digest of the prompt's ids that fit; null when nothing does."""
    rng = random.Random(5)  # noqa: S311 - vectors, not secrets
    made: list[JsonValue] = []
    for _ in range(120):
        lines = tuple("O" * rng.randrange(9) + rng.choice(["", "é", "日本"]) for _ in range(rng.randrange(30)))
        header, prefix = rng.choice(["", "You are Pip."]), rng.choice(["", "Pip:", "Owner: O"])
        request = GenerationRequest(header, lines, prefix, "line", (), {}, 8, 40, 850, 920, 1024, 1)
        budget = rng.randrange(60)
        try:
            ids: JsonValue = list(fit_prompt(request, CountingTokenizer(), budget))  # type: ignore[arg-type]
        except GenerationRefused:
            ids = None
        made.append(
            {"header": request.header, "lines": list(lines), "prefix": request.prefix, "budget": budget, "ids": ids}
        )
    return made


def canonicals() -> list[JsonValue]:
    """Values, their canonical text and its digest; requests among them."""
    request = GenerationRequest("You are Pip.", ("Owner: \u2028\x7f\x1f\b\t\"\\/", "🙂\ufeffé"), "Pip:", "diary",
                                ("[eat]", "[remember …]", "[look time]"), {"[look time]": "night", "[a]": ""},
                                64, 40, 850, 920, 1024, 2**53 - 1)  # fmt: skip
    values: list[JsonValue] = [
        {"b": 1, "a": [True, None, False, "x"], "": {}},
        {"\ufb01": 1, "😀": 2, "z": 3, "Z": 4, "é": 5},
        [0, -1, 2**53 - 1, [], [[]]],
        '\x00\x01\n\r\t\f\b"\\/\x7f\x80\u2028\ud7ff\ue000🙂',
        request_json(request),
    ]
    return [
        {"value": value, "text": canonical_json(value).decode(), "sha256": sha256(canonical_json(value))}
        for value in values
    ]


def source() -> str:
    """The file's text: one line a case."""
    lists = {"masks": masks(), "turns": turns(), "texts": texts(), "fits": fits(), "canonical": canonicals()}
    sections = [f'"tables":{dense(tables_json())}']
    for name, cases in lists.items():
        sections.append(f'"{name}":[\n' + ",\n".join(dense(case) for case in cases) + "\n]")
    return "{" + ",\n".join(sections) + "}\n"


def dense(value: JsonValue) -> str:
    return json.dumps(value, separators=(",", ":"))


def main() -> int:
    text = source()
    if "--check" in sys.argv[1:]:
        same = TARGET.read_text("utf-8") == text
        print("unchanged" if same else "the committed vectors differ from what the runtime does")
        return 0 if same else 1
    TARGET.write_text(text, "utf-8")
    print(f"{len(text)} characters, SHA-256 {hashlib.sha256(text.encode()).hexdigest()[:12]}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
