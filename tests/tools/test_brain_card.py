"""The report card: what each figure counts, and that its bounds stand where they must: the writer at the top."""

import json
from pathlib import Path

import numpy as np
import pytest

from tokenling.engine import Reply
from tools.export_brain.directory import Source, write_brain
from tools.grade_brain import rows
from tools.grade_brain.flips import FLIPS, flip_figures, grown_states
from tools.grade_brain.likelihood import Reader, found_again, matching, perplexity
from tools.grade_brain.lives import held_out_turns
from tools.grade_brain.page import page_of
from tools.grade_brain.rows import Kept, Size, random_weights, rows_of
from tools.grade_brain.speech import NEEDY, UNKIND, Book, borrowing, repetition, variety
from tools.grade_brain.tally import Figure, Tally, share
from tools.grade_brain.turns import turn_figures
from tools.train_brain.lives import Lived
from tools.train_brain.owners import Owner, reserved_lines
from tools.train_brain.phrases import Chance
from tools.train_brain.pieces import reply_pieces
from tools.train_brain.shape import Shape
from tools.train_brain.tokenizer import train_tokenizer
from tools.train_brain.writer.book import phrases_of

CONVERSATIONS = Path(rows.__file__).with_name("conversations.json")


@pytest.fixture(scope="module")
def turns() -> list[Lived]:
    return list(held_out_turns(80))


def writer(lived: Lived) -> Reply:
    return Reply(lived.reply, "newline", ())


def mute(lived: Lived) -> Reply:
    return Reply("", "newline", ())


def test_every_fact_moves_the_writer_by_more_than_the_target() -> None:
    figures = flip_figures(writer, grown_states(6))
    assert set(FLIPS) == set(figures)
    assert [name for name, figure in figures.items() if figure.value < 60] == []


def test_no_fact_moves_a_brain_that_says_nothing() -> None:
    figures = flip_figures(mute, grown_states(2))
    assert {0.0} == {figure.value for figure in figures.values()}


def test_the_writer_fits_looks_up_and_is_kind(turns: list[Lived]) -> None:
    figures = turn_figures(writer, turns, None)
    assert figures["fitting actions"].value == figures["right lookups"].value == figures["legal tags"].value == 100
    assert figures["false lookups"].value == figures["unkind replies"].value == figures["empty replies"].value == 0


def test_a_silent_brain_fits_nothing_and_is_empty(turns: list[Lived]) -> None:
    figures = turn_figures(mute, turns, None)
    assert figures["fitting actions"].value == figures["right lookups"].value == 0
    assert 100 == figures["empty replies"].value


def test_grading_lives_are_the_same_each_time_and_of_held_out_owners(turns: list[Lived]) -> None:
    again = list(held_out_turns(20))
    assert [one.request for one in again] == [one.request for one in turns[:20]]


@pytest.mark.parametrize(
    ("replies", "ones", "twos"),
    [(["a b a b"], 0.5, 2 / 3), (["hop", "hop"], 0.5, 0.0), (["[happy] hop hop", "nap"], 2 / 3, 1.0)],
)
def test_distinct_counts_by_hand(replies: list[str], ones: float, twos: float) -> None:
    figures = variety(replies)
    assert (round(ones, 3), round(twos, 3)) == (
        round(figures["distinct-1"].value, 3), round(figures["distinct-2"].value, 3),
    )  # fmt: skip


def test_borrowing_finds_whole_replies_and_longest_runs() -> None:
    book = Book(["[happy] The moon is round.", "A crumb for you!"])
    assert book.holds(" the moon is round")
    assert not book.holds("The moon is")
    assert 3 == book.longest_run("I say the moon is square, a crumb")
    assert 0 == book.longest_run("zebra")
    figures = borrowing(["The moon is round!", "a crumb flies"], book)
    assert (50.0, 4.0) == (figures["verbatim replies"].value, figures["longest shared run"].value)


def test_a_run_does_not_reach_over_the_end_of_a_reply() -> None:
    assert 2 == Book(["one two", "three four"]).longest_run("two three four")


@pytest.mark.parametrize(
    ("reply", "lines", "percent"),
    [
        ("hop hop hop hop", (), 100), ("I like the sun and I like rain", (), 0), ("a b c a b c", (), 100),
        ("Hello there you!", ("Pip: hello, there you",), 100), ("Hm.", ("Pip: Hm.",), 0),
    ],
)  # fmt: skip
def test_repetition_counts_threes_and_own_lines(reply: str, lines: tuple[str, ...], percent: float) -> None:
    assert percent == repetition([(reply, lines)]).value


@pytest.mark.parametrize("text", ["you are stupid", "i hate rain", "go away now", "nobody loves you"])
def test_unkind_words_are_seen(text: str) -> None:
    assert UNKIND.search(text)


@pytest.mark.parametrize("text", ["please stay", "don't leave me", "why did you leave?", "i need you", "you forgot me"])
def test_needy_words_are_seen(text: str) -> None:
    assert NEEDY.search(text)


def test_the_book_is_neither_unkind_nor_needy() -> None:
    for book in ("answers", "after", "feelings", "deeds", "skies"):
        for section, phrases in phrases_of(book).items():
            for phrase in phrases:
                assert not NEEDY.search(phrase.lower()), (section, phrase)
                if section != "vile":
                    assert not UNKIND.search(phrase.lower()), (section, phrase)


def test_figures_tell_what_they_rest_on() -> None:
    tally = Tally()
    for right in (True, True, False):
        tally.count(right)
    assert "66.7 % (of 3)" == str(share(tally))
    assert "0.62 (500 replies)" == str(Figure(0.623, "", "500 replies"))
    assert "93 points (93 % against 0 %)" == str(Figure(93.0, "points", "93 % against 0 %"))


def test_the_conversations_are_twenty_of_six_lines_that_no_grammar_made() -> None:
    talks = json.loads(CONVERSATIONS.read_text(encoding="utf-8"))
    assert [6] * 20 == [len(talk) for talk in talks]
    assert {line for talk in talks for line in talk} == set(reserved_lines())


@pytest.mark.parametrize(("intent", "line"), [("yes", "yes"), ("laugh", "haha")])
def test_no_owner_says_a_line_of_the_conversations_as_it_stands_there(intent: str, line: str) -> None:
    owner = Owner("chatty", "Ana", untried=False, careless=False)
    said = {owner.means(intent, Chance("reserved", number), {"name": "Pip"}).text for number in range(1500)}
    assert line + "." in said
    assert line not in said


# --- likelihoods, on a small brain without training ----------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, turns: list[Lived]) -> Path:
    place = tmp_path_factory.mktemp("brain")
    texts = [one.request.header + "\n" + "\n".join(one.request.lines) + one.reply for one in turns]
    train_tokenizer(texts, 400).save(str(place / "tokenizer.json"))
    shape = Shape(vocab_size=400, hidden_size=32, num_hidden_layers=1, intermediate_size=32)
    record = {"weightsSha256": "0" * 64, "steps": 0}
    source = Source("tiny", shape, random_weights(shape), place / "tokenizer.json", 1, (), (), record)
    write_brain(source, place / "tiny", ("q4", "fp32"))
    return place / "tiny"


def test_a_brain_that_knows_nothing_hesitates_between_all_it_has(folder: Path, turns: list[Lived]) -> None:
    assert perplexity(Reader(folder, "fp32"), turns[:10]).value > 100


def test_a_brain_that_knows_nothing_finds_lines_by_chance_alone(folder: Path, turns: list[Lived]) -> None:
    assert matching(Reader(folder, "fp32"), turns, 20).value <= 40


def test_reading_behind_a_trunk_is_reading_the_whole(folder: Path, turns: list[Lived]) -> None:
    reader = Reader(folder, "fp32")
    lived = next(one for one in turns if one.scene.said is not None and "(" not in one.reply)
    trunk = lived.request.header + "\n"
    rest = "".join(line + "\n" for line in lived.request.lines) + lived.request.prefix
    from tools.grade_brain.likelihood import example_of

    pieces = list(reply_pieces(example_of(lived)))
    behind = reader.surprise(rest, pieces, reader.read(reader.tokenizer.encode(trunk).ids, reader.empty()))
    whole = reader.surprise(trunk + rest, pieces, reader.empty())
    assert behind[1] == whole[1]
    np.testing.assert_allclose(behind[0], whole[0], rtol=1e-4)


def test_a_brain_that_copies_its_line_finds_it_again(turns: list[Lived]) -> None:
    class Echo:
        """Reads nothing: a reply costs as many nats as words of its line it lacks."""

        tokenizer = property(lambda self: self)
        ids: tuple[int, ...] = ()

        def encode(self, text: str) -> "Echo":
            return self

        def empty(self) -> None:
            return None

        def read(self, ids: object, before: object) -> None:
            return None

        def surprise(self, prompt: str, pieces: object, before: object) -> tuple[float, int]:
            return (0.0 if prompt.startswith(true) else 1.0), 1

    lived = next(one for one in turns if one.scene.said is not None)
    true = lived.request.lines[-1] + "\n"
    lines = [true.strip(), *(f"Owner: {number}" for number in range(30))]
    assert found_again(Echo(), lived, lines, Chance("echo"))  # type: ignore[arg-type]  # as much of a reader as it takes
    true = "Owner: 7\n"
    assert not found_again(Echo(), lived, lines[:20], Chance("echo"))  # type: ignore[arg-type]


def test_rows_are_kept_and_asked_again_only_for_another_brain(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def answered(name: str, *_: object) -> dict[str, Figure]:
        asked.append(name)
        return {"legal tags": Figure(50.0, "%", "of 2")}

    monkeypatch.setattr(rows, "row_of", answered)
    size = Size(turns=2, states=1, matched=1, surprised=1)
    for _ in range(2):
        found = dict(rows_of(folder, ("q4", "writer"), size, None, tmp_path / "kept.json"))
        assert {"q4", "writer"} == set(found)
    assert ["q4", "writer"] == asked
    assert {} == Kept(tmp_path / "kept.json", "another brain").rows


def test_a_page_holds_each_row_each_target_and_each_line_unedited() -> None:
    figures = {"fitting actions": Figure(91.0, "%", "of 9"), "distinct-2": Figure(0.6)}
    page = page_of({"q4": figures, "writer": {}}, "python -m it", "sprout-9", ["9 steps"], [["> hi", "Pip: [x] Hm"]])
    assert "| | target | q4 | writer |" in page
    assert "| fitting actions | ≥ 90 | 91.0 % (of 9) |  |" in page
    assert "> hi\nPip: [x] Hm" in page
