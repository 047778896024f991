"""Random texts of what tokenizers stumble over."""

import random
from collections.abc import Iterator, Sequence

SCRAPS: Sequence[str] = (
    # words and code
    "the", "The", "cat", "window", "HTTPServer", "getElementById", "don't", "I'LL", "we've", "x'S", "'tis",
    "O'Neil's",
    "def f(x):", "return", "==", "!=", "->", "//", "/*", "*/", "\\n", "{}", "[]", "<table>", "</b>", "<|",
    "|>", "_", "__init__",
    # digits of several scripts, fractions, Roman numerals
    "0", "7", "42", "123", "1234", "3.14159", "1,000,000", "१२३", "٣٤٥", "½", "Ⅷ", "²", "𝟘𝟙𝟚", "㊿",
    # letters that fold, title case, modifier letters, long s, Kelvin sign, dotless i
    "ſ", "'ſ", "K", "ı", "İ", "ǅ", "ʰ", "ª", "ß", "ẞ", "ﬁ", "Å", "Å",
    # scripts
    "你好", "世界", "日本語の", "カタカナ", "한국어", "नमस्ते", "ภาษาไทย", "مرحبا", "שלום", "Привет", "Ελλάδα", "ქართული",
    "🇩🇪",
    # emoji with joiners, skin tones, variation selectors
    "🙂", "👩‍👩‍👧‍👦", "👍🏽", "❤️", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "1️⃣",
    # combining marks, composed and not
    "é", "e\u0301", "n\u0303", "a\u0308\u0323", "\u0301", "Z\u0351\u0342\u034f", "ཀྵ", "\u1100\u1161\u11a8",
    # blanks, line ends, controls, byte order mark, replacement, noncharacters, private use
    " ", "  ", "   ", "\t", "\n", "\n\n", "\r\n", "\r", "\v", "\f", "\x85", "\xa0", "\u2003", "\u2028",
    "\u3000", "\u200b",
    "\u200d", "\u00ad", "\0", "\x01", "\x1b[0m", "\x1c", "\x1f", "\x7f", "\ufeff", "\ufffd", "\uffff",
    "\ue000", "\U000f0000",
    "\U0010ffff", "▁", "▁▁", "Ġ", "Ċ",
    # marks
    ".", ",", "!", "?", "…", "«", "»", "“", "”", "—", "-", "--", "'", '"', "`", "$", "€", "+", "=", "~",
    "^", "|", "\\", "/", "@",
    "#", "%", "&", "*", "(", ")", ";", ":", "。", "、", "；", "،", "؟", "¿", "♪", "∑", "×",
)  # fmt: skip
RUNS = (2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 64, 100)


def hostile_texts(count: int, seed: int, extra: Sequence[str] = ()) -> Iterator[str]:
    """`count` texts of up to some forty scraps, `extra` ones among them."""
    chance = random.Random(seed)  # noqa: S311 - texts, not keys
    scraps = (*SCRAPS, *extra)
    for _ in range(count):
        yield "".join(_scrap(chance, scraps) for _ in range(chance.randint(1, chance.choice((2, 6, 40)))))


def _scrap(chance: random.Random, scraps: Sequence[str]) -> str:
    kind = chance.random()
    if kind < 0.08:
        return chance.choice(scraps) * chance.choice(RUNS)
    if kind < 0.16:
        return "".join(chr(_code_point(chance)) for _ in range(chance.randint(1, 4)))
    return chance.choice(scraps) + chance.choice(("", "", " "))


def _code_point(chance: random.Random) -> int:
    """Any but a surrogate, the low ones often."""
    while True:
        found = chance.randrange(chance.choice((0x80, 0x600, 0x3000, 0x10000, 0x110000)))
        if not 0xD800 <= found <= 0xDFFF:
            return found
