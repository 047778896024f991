"""Text to ids: hard strings come back, pieces meet the decoder's, branches see their own example and nothing else."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from tools.train_brain.pieces import APART, EARLIER, GIVEN, OWN, Example, grow_trees, reply_pieces, trunk_of
from tools.train_brain.recipe import Recipe
from tools.train_brain.shape import Shape
from tools.train_brain.shards import batches, load_shard, make_shard, positions_of, without_trunks
from tools.train_brain.tokenizer import END, end_id, train_tokenizer

HEADER = "Pip is a shy child.\nBody: hungry.\n"
TEXTS = [
    HEADER + "Owner: hello there, how are you\nPip: I'm fine, thank you! [nap][look weather] It's wet.\n",
    "Owner: don't you know 123 birds?\nPip: no, but I can hop.\n",
]
HARD = (
    "",
    " ",
    "  ",
    "\n",
    "\n\n",
    " \n ",
    "[",
    "]",
    "[[]]",
    "[nap]",
    " [nap] ",
    "a[b]c",
    "don't",
    "it's'",
    "'''",
    "1234",
    "3.14",
    "\u00e9\u0301",
    "\u0130\u0131",
    "\ufeffx",
    "\u200d",
    "\U0001f98a\U0001f3fd",
    "\u4f60\u597d",
    "\x00\x7f",
    "\u2028",
    "a\tb",
    "\r\n",
    "END [end] of it",
    "  two  spaces  ",
    "UPPER lower",
    "\uffff",
    "q" * 300,
)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    made = train_tokenizer(TEXTS * 3, 300)
    made.encode_special_tokens = True
    return made


def example(said: str, reply: str, **more: object) -> Example:
    base = Example(f"{HEADER}Owner: {said}\nPip:", reply, "line", {})
    return dataclasses.replace(base, **more)  # type: ignore[arg-type]  # the fields of an Example


@pytest.mark.parametrize("text", HARD)
def test_every_string_comes_back_whole(tokenizer: Tokenizer, text: str) -> None:
    assert text == tokenizer.decode(tokenizer.encode(text).ids, skip_special_tokens=False)


@pytest.mark.parametrize("mark", ["[", "]", "\n"])
def test_brackets_and_newlines_are_tokens_of_their_own(tokenizer: Tokenizer, mark: str) -> None:
    tokens = tokenizer.encode(f"ab {mark}{mark} cd{mark}").tokens
    spelled = tokenizer.encode(mark).tokens
    assert len(spelled) == 1
    assert tokens.count(spelled[0]) == 3


def test_the_end_is_never_read_out_of_a_text(tokenizer: Tokenizer) -> None:
    assert end_id(tokenizer) not in tokenizer.encode(f"a {END} b").ids


def test_a_text_too_poor_for_the_vocabulary_is_refused() -> None:
    with pytest.raises(ValueError, match="expected 5000"):
        train_tokenizer(["a b"], 5000)


def test_a_lookup_reply_falls_into_the_decoders_pieces() -> None:
    answers = {"[look weather]": "rain", "[recall tea]": "owner likes tea"}
    asked = example("x", "[look weather] Wet! [recall tea] You like tea.", answers=answers)
    expected = [
        ("[look weather]", True), ("(rain)", False), (" Wet! [recall tea]", True), ("(owner likes tea)", False),
        (" You like tea.\n", True),
    ]  # fmt: skip
    assert expected == list(reply_pieces(asked))


def test_a_tree_holds_the_very_ids_of_each_example(tokenizer: Tokenizer) -> None:
    examples = [example("hello", " Hi!"), example("how are you", " I'm fine."), example("bye", "[nap] Hop.")]
    (tree,) = grow_trees(examples, tokenizer, 400)
    trunk = [one for one, branch in zip(tree.ids, tree.branches, strict=True) if branch == 0]
    for number, one in enumerate(examples, start=1):
        own = [token for token, branch in zip(tree.ids, tree.branches, strict=True) if branch == number]
        alone = tokenizer.encode(one.prompt).ids + tokenizer.encode(one.reply + "\n").ids
        assert alone == trunk + own


def test_examples_of_another_trunk_or_too_many_ids_grow_another_tree(tokenizer: Tokenizer) -> None:
    here, there = example("hello", " Hi!"), Example("Other.\nOwner: hello\nPip:", " Hi!", "line", {})
    assert len(list(grow_trees([here, there], tokenizer, 400))) == 2
    alone = len(next(grow_trees([here], tokenizer, 400)).ids)
    assert len(list(grow_trees([here, here], tokenizer, alone))) == 2
    assert list(grow_trees([here], tokenizer, alone - 1)) == []


def test_only_the_reply_is_learned_and_never_an_inserted_answer(tokenizer: Tokenizer) -> None:
    asked = example("x", "[look weather] Wet!", answers={"[look weather]": "rain"})
    (tree,) = grow_trees([asked], tokenizer, 400)
    learned = [token for token, kind in zip(tree.ids, tree.kinds, strict=True) if kind == OWN]
    assert tokenizer.decode(learned) == "[look weather] Wet!\n"


def test_earlier_lines_of_the_pet_are_learned_from_their_second_word(tokenizer: Tokenizer) -> None:
    prompt = HEADER + "Owner: one\nPip: first answer here\nOwner: two\nPip: second answer\nOwner: three\nPip:"
    (tree,) = grow_trees([Example(prompt, " third", "line", {}, fresh=3)], tokenizer, 400)
    heard = [token for token, kind in zip(tree.ids, tree.kinds, strict=True) if kind == EARLIER]
    assert tokenizer.decode(heard) == " answer\n"


def test_a_diary_page_ends_with_the_end(tokenizer: Tokenizer) -> None:
    page = Example("H\n(Today: slept.)\nDiary:", " I slept.", "diary", {})
    (tree,) = grow_trees([page], tokenizer, 400)
    assert end_id(tokenizer) == tree.ids[-1]
    assert tree.kinds[-1] == OWN


def test_the_trunk_ends_before_the_last_line() -> None:
    assert trunk_of(example("hello", "")) == HEADER
    assert trunk_of(Example("Owner: hi\nPip:", "", "line", {})) == ""


def test_a_branch_goes_on_where_the_trunk_ends() -> None:
    branches = np.array([0, 0, 0, 1, 1, 2, 2, 2], dtype=np.uint8)
    assert positions_of(branches).tolist() == [0, 1, 2, 3, 4, 3, 4, 5]


def test_a_branch_sees_the_trunk_and_itself_only(tokenizer: Tokenizer) -> None:
    shard = make_shard(grow_trees([example("hello", " Hi!"), example("bye", " Hop.")], tokenizer, 400))
    (batch,) = batches(shard, 4096, 1)
    branches, seen = batch.branches[0], batch.seen()[0]
    for at in range(int(shard.lengths()[0])):
        expected = [before <= at and branches[before] in (0, branches[at]) for before in range(len(branches))]
        assert expected == seen[at].tolist()
    assert batch.kinds[0][int(np.flatnonzero(branches == 2)[0])] == APART
    assert batch.kinds[0][0] == GIVEN


def test_an_epoch_holds_every_tree_once_within_the_batch_bound(tokenizer: Tokenizer) -> None:
    examples = [Example(f"{number}.\nOwner: {'hop ' * (number % 9)}\nPip:", " Hi!", "line", {}) for number in range(60)]
    shard = make_shard(grow_trees(examples, tokenizer, 400))
    made = list(batches(shard, 512, 3))
    assert all(batch.ids.size <= 512 for batch in made)
    assert sum(len(batch.ids) for batch in made) == 60
    assert int((shard.kinds == OWN).sum()) == sum(int((batch.kinds == OWN).sum()) for batch in made)
    assert [b.ids.shape for b in made] != [b.ids.shape for b in batches(shard, 512, 4)]


def test_a_bare_tree_keeps_its_branches_and_their_order_alone(tokenizer: Tokenizer) -> None:
    shard = make_shard(grow_trees([example("hello", " Hi!"), example("bye", " Hop.")] * 2, tokenizer, 400))
    bare = without_trunks(shard)
    assert shard.ids[shard.branches != 0].tolist() == bare.ids.tolist()
    assert len(shard) == len(bare)
    assert positions_of(bare.branches[: bare.starts[1]])[0] == 0
    assert positions_of(np.array([1, 1, 2, 2, 2], dtype=np.uint8)).tolist() == [0, 1, 0, 1, 2]


def test_a_shard_comes_back_from_its_file(tokenizer: Tokenizer, tmp_path: Path) -> None:
    shard = make_shard(grow_trees([example("hello", " Hi!")], tokenizer, 400))
    shard.save(tmp_path / "shard.npz")
    found = load_shard(tmp_path / "shard.npz")
    for kept in ("ids", "kinds", "branches", "starts"):
        np.testing.assert_array_equal(getattr(shard, kept), getattr(found, kept))


def test_the_rate_rises_stays_level_and_falls_to_nothing() -> None:
    recipe = Recipe(steps=1000, warmup_steps=10, decay_steps=100, rate=0.5)
    assert recipe.rate_at(0) == pytest.approx(0.05)
    assert {0.5} == {recipe.rate_at(step) for step in range(10, 900)}
    assert recipe.rate_at(950) == pytest.approx(0.25)
    assert recipe.rate_at(999) == pytest.approx(0.005)


def test_a_shape_that_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="multiple of num_key_value_heads"):
        Shape(num_attention_heads=5, num_key_value_heads=2)
    with pytest.raises(ValueError, match="head_dim must be even"):
        Shape(head_dim=31)
