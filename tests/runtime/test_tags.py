"""Tag masks: whatever the logits say, what is written holds legal tags only, and every opened tag is closed."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tokenling.runtime import DecodePlan, GenerationRefused, Sampling
from tokenling.runtime.tags import MASKS_MAX, NEVER, OUTSIDE, WALKS_MAX, TokenIndex, make_mask, parse_tag, utf8_owed
from tokenling.runtime.tokenizer import TokenTable
from tokenling.runtime.writer import Writer

TAGS = ("[eat]", "[nap]", "[nod]", "[play ball]", "[play kite]", "[recall …]", "[recall all]", "[look]", "[é]")
ANSWER = (1, 2, 3)
LEGAL = re.compile(r"\[(?:eat|nap|nod|play ball|play kite|recall [^\[\]\n\r]{1,40}|recall all|look|é)\]")
ODD = [b"[eat", b"] [", b"[nap][nod]", b" [", b"[play ", b"ball]", b"]\n", b"][", b"[look]", b"[look] x", b"\xc3"]
ODD += [
    b"\xa9]",
    b"a\xe2\x82",
    b"\xac",
    b"[recall ",
    b"[recall a]",
    b"l]b",
    b"x" * 30,
    b"\xf0\x9f",
    b"\x99\x82]",
    b"]]",
]
ODD += [b"[[", b"[\xc3", "日本語".encode(), b"ll all] ok", b"\n\n", b"]", b"e [nod] e"]


def table_of(*, bytes_too: bool = True, odd: list[bytes] = ODD) -> TokenTable:
    """Special tokens 0 and 1, an id without token, single bytes, and tokens across every border."""
    singles = [bytes((byte,)) for byte in range(256)] if bytes_too else []
    return TokenTable((b"", b"", None, *singles, *odd))


INDEX = TokenIndex(table_of())


def write(logits: np.ndarray, plan: DecodePlan, index: TokenIndex = INDEX) -> Writer:
    """The writer at the end of a turn whose step n sees row n of the logits (taken in turn)."""
    writer = Writer(plan, index, [0])
    for step in range(plan.max_new + 1):
        if not writer.write(logits[step % len(logits)]):
            return writer
    raise AssertionError("a turn longer than its budget")


def plan_of(seed: int, max_new: int, **changes: object) -> DecodePlan:
    fields = {"constraint": TAGS, "insertions": {"[look]": ANSWER}} | changes
    return DecodePlan((5,), max_new, Sampling(1000, 0, 1000, seed), (), **fields)  # type: ignore[arg-type]


def hostile(seed: int, size: int) -> np.ndarray:
    """Rows that love brackets, half characters and the tokens that hold both."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(scale=rng.choice([0.5, 3, 12]), size=(8, size)).astype(np.float32)
    loved = rng.choice(size, size=size // 3)
    logits[:, loved] += rng.choice([0, 6, 25])
    return logits


def assert_legal(text: str) -> None:
    rest = LEGAL.sub("", text)
    assert "[" not in rest, repr(text)


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 2**53 - 1), st.integers(1, 60))
def test_what_is_written_is_legal_under_any_logits(rows: int, seed: int, max_new: int) -> None:
    writer = write(hostile(rows, INDEX.size), plan_of(seed, max_new))
    assert_legal(writer.text)
    assert len(writer.token_ids) + len(ANSWER) * len(writer.insertions_used) <= max_new
    assert len(writer.insertions_used) <= 3
    assert 2 not in writer.token_ids


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 2**53 - 1), st.integers(1, 30))
def test_a_brain_that_wants_nothing_but_an_open_tag_still_closes_it(rows: int, seed: int, max_new: int) -> None:
    logits = hostile(rows, INDEX.size)
    logits[:, INDEX.opening] += 50
    logits[:, INDEX.id_of[b"]"]] = -80
    assert_legal(write(logits, plan_of(seed, max_new)).text)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40))
def test_without_legal_tags_no_bracket_opens(rows: int, max_new: int) -> None:
    writer = write(hostile(rows, INDEX.size), plan_of(rows, max_new, constraint=(), insertions={}))
    assert "[" not in writer.text


def test_the_hostile_rows_do_write_tags_of_every_kind() -> None:
    """The tests above would prove nothing if no tag were ever written."""
    texts = [write(hostile(n, INDEX.size), plan_of(n, 60)).text for n in range(150)]
    found = {tag.group() for text in texts for tag in LEGAL.finditer(text)}
    assert found >= {"[eat]", "[nap]", "[nod]", "[play ball]", "[look]", "[é]"}
    assert any(len(tag) > len("[recall all]") for tag in found if tag.startswith("[recall "))


def legal_tokens(state_bytes: bytes, left: int = 100, tags: tuple[str, ...] = TAGS) -> set[bytes]:
    """What may be written behind these bytes with `left` tokens to go."""
    mask = make_mask(INDEX, tags, {"[look]": 3})
    state = OUTSIDE
    for byte in state_bytes:
        walk = mask.walk(state, INDEX.id_of[bytes((byte,))])
        assert not walk.illegal
        state = walk.state
    return {INDEX.bytes_of[token] or b"" for token in np.flatnonzero(mask.costs(state) <= left - 1)}


def test_text_before_and_behind_a_bracket_in_one_token_is_judged() -> None:
    outside = legal_tokens(b"hi")
    assert {b" [", b"[nap][nod]", b"e [nod] e", b"]\n", b"]", b"", b"[play ", b"[\xc3"} <= outside
    assert not {b"[[", b"[look] x", b"[recall a]x"} & outside
    assert {b"ball]", b"b", b"k"} == legal_tokens(b"[play ")


def test_nothing_follows_a_lookup_in_its_own_token() -> None:
    assert b"[look]" in legal_tokens(b"")
    assert b"[look] x" not in legal_tokens(b"")


def test_a_lookup_is_legal_only_while_its_answer_fits() -> None:
    assert b"[look]" in legal_tokens(b"", left=4)
    assert b"[look]" not in legal_tokens(b"", left=3)
    assert b"]" in legal_tokens(b"[look", left=4)


def test_an_opening_bracket_needs_the_budget_to_close() -> None:
    assert b"[" in legal_tokens(b"", left=4, tags=("[abc]",)) | legal_tokens(b"", left=5, tags=("[abc]",))
    assert b"[" not in legal_tokens(b"", left=4, tags=("[abc]",))
    assert b"[eat" in legal_tokens(b"", left=2)
    assert b"[eat" not in legal_tokens(b"", left=1)


def test_free_text_ends_at_forty_code_points() -> None:
    start = b"[recall "
    full = start + "é".encode() * 40
    assert {b"]"} <= legal_tokens(full)
    assert not {b"a", b"\xc3", "日本語".encode(), b"a\xe2\x82"} & legal_tokens(full)
    assert {b"a", b"\xc3", b"]"} <= legal_tokens(full[:-2])
    assert b"x" * 30 in legal_tokens(start + b"a" * 10)
    assert b"x" * 30 not in legal_tokens(start + b"a" * 11)


def test_free_text_is_whole_characters_of_what_may_stand_there() -> None:
    assert b"]" not in legal_tokens(b"[recall ")
    assert not {b"\n", b"[", b"\x80", b"\xff", b"\xc0", b"\r", b"\n\n", b""} & legal_tokens(b"[recall a")
    inside = legal_tokens(b"[recall a\xf0\x9f")
    assert {b"\x99\x82]"} <= inside
    assert not {b"a", b"]", b"\x20"} & inside


@pytest.mark.parametrize("char", ["a", "é", "€", "\ud7ff", "\ue000", "\U00010000", "🙂", "\U0010ffff"])
def test_utf8_is_followed_as_unicode_has_it(char: str) -> None:
    data = char.encode()
    owed = utf8_owed(data[0])
    for byte in data[1:]:
        assert owed is not None
        assert owed[1] <= byte <= owed[2]
        owed = (owed[0] - 1, 0x80, 0xBF) if owed[0] > 1 else None
    assert owed is None


@pytest.mark.parametrize(
    "broken", [b"\xc0\x80", b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xf0\x80\x80\x80", b"\xf4\x90\x80\x80"]
)
def test_no_overlong_form_surrogate_or_plane_17_stands_in_free_text(broken: bytes) -> None:
    mask = make_mask(INDEX, TAGS, {})
    state = mask.walk(OUTSIDE, INDEX.id_of[b"[recall "]).state
    for byte in broken:
        walk = mask.walk(state, INDEX.id_of[bytes((byte,))])
        if walk.illegal:
            return
        state = walk.state
    raise AssertionError("the broken character was let through")


def test_a_tag_that_no_tokens_spell_is_never_opened() -> None:
    index = TokenIndex(TokenTable((b"", b"[", b"]", b"a", b"b", b" ", b"[zz", b"c\xc3")))
    costs = make_mask(index, ("[ab]", "[zz top]"), {}).costs(OUTSIDE)
    assert costs[1] == 3  # a, b, ]
    assert costs[6] == NEVER
    assert make_mask(index, ("[zz top]",), {}).costs(OUTSIDE)[1] == NEVER


def test_after_three_lookups_the_tag_is_gone() -> None:
    logits = np.full((1, INDEX.size), -50, dtype=np.float32)
    logits[0, INDEX.id_of[b"[look]"]] = 50
    logits[0, INDEX.id_of[b"x"]] = 0
    writer = write(logits, plan_of(1, 40))
    assert writer.insertions_used == ["[look]"] * 3
    assert writer.text == "[look]" * 3 + "x" * (40 - 3 - 9)


def test_branch_points_show_what_the_brain_weighed() -> None:
    logits = np.full((1, INDEX.size), -30, dtype=np.float32)
    for data, value in ((b"[", 2.0), (b"e", 2.0), (b"n", 2.0), (b"p", 1.0)):
        logits[0, INDEX.id_of[data]] = value
    found = [write(logits, plan_of(seed, 12)).choices for seed in range(30)]
    shares = next(choice.shares_ppm for choices in found for choice in choices if "[eat]" in choice.shares_ppm)
    # behind `[`: e, n and p at logits 2, 2 and 1 share e^2 : e^2 : e^1
    assert pytest.approx([shares[name] for name in ("[eat]", "[n", "[play ")], abs=100) == [422_319, 422_319, 155_362]
    opened = next(choice.shares_ppm for choices in found for choice in choices if "[" in choice.shares_ppm)
    assert opened["["] == pytest.approx(1e6 / 3.368, abs=200)  # of `[`, e, n and p, of which `[` alone opens a tag


@pytest.mark.parametrize(
    "tag", ["", "eat", "[eat", "eat]", "[]", "[a[b]", "[a]b]", "[a\nb]", "[a…b]", "[…x…]", "[" + "a" * 300 + "]"]
)
def test_a_tag_of_another_shape_is_refused(tag: str) -> None:
    with pytest.raises(GenerationRefused) as refusal:
        parse_tag(tag)
    assert refusal.value.code == "tag_malformed"
    assert not tag or tag not in str(refusal.value)


def test_too_many_tags_are_refused() -> None:
    with pytest.raises(GenerationRefused) as refusal:
        make_mask(INDEX, [f"[t{n}]" for n in range(513)], {})
    assert refusal.value.code == "tags_too_many"


def test_a_mask_kept_from_turn_to_turn_answers_as_a_new_one() -> None:
    index = TokenIndex(table_of())
    insertions = {"[look]": 3}
    kept = make_mask(index, TAGS, insertions)
    kept.cut(OUTSIDE, 9)
    assert kept is make_mask(index, TAGS, insertions)
    assert kept is not make_mask(index, TAGS, {"[look]": 4})  # a longer answer costs more of the budget
    state = kept.walk(OUTSIDE, 2 + 1 + ord("[")).state
    logits = np.arange(index.size, dtype=np.float32)
    for room in (0, 1, 2, 5, 40, NEVER - 1):
        fresh = make_mask(TokenIndex(table_of()), TAGS, insertions)
        for where in (OUTSIDE, state):
            expected = np.where(fresh.costs(where) <= room, logits, -np.inf)
            assert np.array_equal(expected, kept.cut(where, room).over(logits, np.empty_like(logits)))


def test_what_a_lane_keeps_of_masks_is_bounded() -> None:
    index = TokenIndex(table_of())
    first = make_mask(index, ("[eat]",), {})
    for turn in range(MASKS_MAX + 5):
        make_mask(index, (f"[tag {turn}]",), {})
        make_mask(index, ("[eat]",), {})  # wanted again and again: it stays
    assert MASKS_MAX == len(index.masks)
    assert first is make_mask(index, ("[eat]",), {})
    for token in range(index.size):
        for points in range(1, 40):
            first.walk(((0, 4, points, None),), token)
    assert len(first._walks) <= WALKS_MAX


def test_plain_text_outside_of_tags_leads_nowhere_and_takes_no_place_in_what_is_kept() -> None:
    index = TokenIndex(table_of())
    mask = make_mask(index, TAGS, {"[look]": 3})
    for token, data in enumerate(index.bytes_of):
        assert mask._walk(OUTSIDE, data) == mask.walk(OUTSIDE, token)
    kept = [index.bytes_of[token] for _state, token in mask._walks]
    assert {True} == {not data or b"[" in data for data in kept}
    assert len(kept) < index.size / 10
