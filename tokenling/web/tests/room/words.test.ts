/* The table of strings against the code that uses it: no key is missing, none is left over, no blank stays open. */

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { KEEPING } from "../../src/room/words_keeping.ts";
import { LIVING } from "../../src/room/words_living.ts";
import { nameOf, problemText, say, stringKeys } from "../../src/room/strings.ts";

const ROOM = join(import.meta.dirname, "../../src/room");
const sources = readdirSync(ROOM, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts") && !/(strings|words_\w+)\.ts$/.test(name))
  .map((name) => readFileSync(join(ROOM, name), "utf8"))
  .join("\n");
/** Keys that are put together: by the part before the first blank. */
const stems = [...sources.matchAll(/say\(\s*(?:[^"`()]*\? )?`([^`$]*)\$\{/g)].map(([, stem]) => stem ?? "");
const LISTS = [
  "item.",
  "place.",
  "stage.",
  "action.",
  "weather.",
  "want.",
  "trait.",
  "tag.",
  "chatter.",
  "motion.",
  "band.",
  "meter.",
  "problem.",
  "refused.",
  "outdated.",
];
const quoted = new Set([...sources.matchAll(/"([a-z0-9.-]+)"/gi)].map(([, key]) => key));

describe("the table of strings", () => {
  it("has every key that is said", () => {
    const said = [...sources.matchAll(/say\(\s*"([^"]+)"/g)].map(([, key]) => key ?? "");
    expect(said.length).toBeGreaterThan(150);
    expect([...new Set(said)].filter((key) => !stringKeys().includes(key))).toEqual([]);
  });

  it("has no key that nobody says", () => {
    const used = (key: string) => quoted.has(key) || [...stems, ...LISTS].some((stem) => stem !== "" && key.startsWith(stem));
    expect(stringKeys().filter((key) => !used(key))).toEqual([]);
  });

  it("says nothing in two places", () => {
    expect(Object.keys(LIVING).filter((key) => key in KEEPING)).toEqual([]);
  });

  it("fills its blanks, and shows what was not given", () => {
    expect(say("talk.said", { name: "Pip", text: "{name}" })).toBe("Pip: {name}");
    expect(say("talk.said", { name: "Pip" })).toBe("Pip: {text}");
    expect(say("no.such.key")).toBe("no.such.key");
    expect(say("no.such.key", {}, "else")).toBe("else");
  });

  it("reads names of closed lists that it does not know", () => {
    expect(nameOf("item", "warm_milk")).toBe("warm milk");
  });
});

it.each([
  [{ code: "host_full" }, "This host has no room for another pet."],
  [{ code: "invalid_command", fields: { reason: "unknown_game" } }, "That round is over already."],
  [{ code: "invalid_command", fields: { reason: "unheard_of" } }, "The pet cannot do that now."],
  [
    { code: "card_format", fields: { reason: "card_count", found: 50, wanted: 51 } },
    "50 words were read, but the card that begins like this has 51. Please check that none is missing or written twice.",
  ],
  [{ code: "card_word", fields: { word: 7 } }, "Word 7 is on no card. Please check its spelling."],
  [{ code: "unheard_of" }, "That did not work (unheard_of)."],
  [new Error("secret words"), "That did not work (unexpected)."],
  [null, "That did not work (unexpected)."],
])("a problem in words: %j", (problem, words) => {
  expect(problemText(problem)).toBe(words);
});
