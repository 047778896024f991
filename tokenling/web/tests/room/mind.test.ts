import { describe, expect, it } from "vitest";
import type { MindTurn } from "../../src/contract.ts";
import { OPTIONS_MAX, choicesOf, mindOf, shareWords, tagWords } from "../../src/room/mind.ts";

const TAGS = ["[eat]", "[excited]", "[go pond]", "[go garden]", "[go window]", "[look weather]", "[look time]", "[remember …]"];

describe("choices of a turn", () => {
  it("joins the pieces of one tag into shares of whole actions", () => {
    const told = choicesOf(
      [
        { step: 0, sharesPpm: { "[": 900_000 } },
        { step: 1, sharesPpm: { "[go ": 500_000, "[eat]": 500_000 } },
        { step: 2, sharesPpm: { "[go pond]": 800_000, "[go garden]": 200_000 } },
      ],
      TAGS,
    );
    expect(told).toHaveLength(1);
    expect(told[0]?.options.map(({ label, ppm }) => [label, ppm])).toEqual([
      ["have a bite", 450_000],
      ["be down at the pond", 360_000],
      ["just go on speaking", 100_000],
      ["be out in the garden", 90_000],
    ]);
  });

  it("keeps two tags apart, also when the second begins like the first did", () => {
    const told = choicesOf(
      [
        { step: 0, sharesPpm: { "[": 1_000_000 } },
        { step: 1, sharesPpm: { "[eat]": 1_000_000 } },
        { step: 9, sharesPpm: { "[": 600_000 } },
      ],
      TAGS,
    );
    expect(told.map(({ step }) => step)).toEqual([0, 9]);
    expect(told[1]?.options.map(({ label, ppm }) => [label, ppm])).toEqual([
      ["do, feel or look up something", 600_000],
      ["just go on speaking", 400_000],
    ]);
  });

  it("tells an unfinished key by the tags that it may become", () => {
    const [told] = choicesOf([{ step: 4, sharesPpm: { "[look ": 1_000_000 } }], TAGS);
    expect(told?.options[0]?.label).toBe("look at the weather or look at the clock");
  });

  it("shows a bounded number of options and sums up the rest", () => {
    const sharesPpm = Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`[tag${index}]`, 100_000]));
    const [told] = choicesOf([{ step: 0, sharesPpm }], TAGS);
    expect(told?.options).toHaveLength(OPTIONS_MAX);
    expect(told?.restPpm).toBe(400_000);
  });

  it("draws a bar as long as its share of all there was", () => {
    const [told] = choicesOf([{ step: 0, sharesPpm: { "[eat]": 800_000, "[excited]": 200_000 } }], TAGS);
    expect(told?.options.map(({ bar }) => bar)).toEqual([0.8, 0.2]);
  });

  it("has nothing to say where nothing was chosen", () => {
    expect(choicesOf([], TAGS)).toEqual([]);
    expect(choicesOf([{ step: 0, sharesPpm: {} }], TAGS)[0]?.options.map(({ label }) => label)).toEqual(["just go on speaking"]);
  });
});

describe("what a receipt tells", () => {
  const turn: MindTurn = {
    turnId: "r1",
    kind: "idle",
    atMs: 5,
    choices: null,
    receipt: {
      brainId: "sprout-0", seed: 42, promptTokens: 90, outputTokens: 12, prefillMicros: 1500, decodeMicros: 2500, stop: "eos", nearTies: [3], insertionsUsed: ["[look weather]"],
      request: { header: "Pip is shy.\nAwake.", lines: ["Owner: hi: there", "Pip: hm", "(Owner feeds Pip: plum.)"], tags: TAGS, answers: { "[look weather]": "rain", "[look time]": "noon" } },
    },
  }; // prettier-ignore

  it("splits the header, the lines and what was looked up", () => {
    const told = mindOf(turn, "Pip");
    expect(told.told).toEqual(["Pip is shy.", "Awake."]);
    expect(told.noticed).toEqual([
      { about: "who", text: "Pip is shy." },
      { about: "who", text: "Awake." },
    ]);
    expect(told.lines).toEqual([
      { who: "owner", text: "hi: there" },
      { who: "pet", text: "hm" },
      { who: "happening", text: "Owner feeds Pip: plum." },
    ]);
    expect(told.looked).toEqual([{ asked: "look at the weather", answer: "rain" }]);
    expect(told.facts).toEqual({
      seed: "42",
      brainId: "sprout-0",
      promptTokens: 90,
      outputTokens: 12,
      millis: 4,
      stop: "eos",
      nearTies: 1,
    });
  });

  it("names what each line of the header is about", () => {
    const header =
      "Pip is a shy child who loves plum.\nAwake in the garden, evening, autumn, feeling curious.\nBody: hungry, rested.\n" +
      "Snacks: none. Wants food.\nOffer: plum.\nKnows: Sam likes tea.\nRecall: bicycle.\nLately: was fed plum.";
    const { noticed } = mindOf({ ...turn, receipt: { request: { header } } }, "Pip");
    expect(noticed.map(({ about }) => about)).toEqual(["who", "now", "body", "wants", "offer", "knows", "recall", "lately"]);
    expect(noticed.map(({ text }) => text).slice(2, 6)).toEqual(["hungry, rested.", "Snacks: none. Wants food.", "plum.", "Sam likes tea."]);
  });

  it.each([[{}], [{ request: null }], [{ request: [] }], [{ request: { header: 7, lines: "x", tags: {}, answers: [] } }]])(
    "survives a receipt of another shape: %j",
    (receipt) => {
      expect(mindOf({ ...turn, receipt, kind: null }, "Pip").told).toEqual([]);
    },
  );
});

it.each([
  ["[go pond]", "be down at the pond"],
  ["[remember …]", "remember something"],
  ["[recall tea]", "think back to tea"],
  ["[eat]", "have a bite"],
  ["[unheard of]", "unheard of"],
])("%s in words", (tag, words) => {
  expect(tagWords(tag)).toBe(words);
});

it.each([
  [0, "0 %"],
  [1, "under 1 %"],
  [9_999, "under 1 %"],
  [10_000, "1 %"],
  [996_000, "100 %"],
])("%i millionths are %s", (ppm, words) => {
  expect(shareWords(ppm)).toBe(words);
});
