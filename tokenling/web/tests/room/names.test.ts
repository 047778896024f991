import { expect, it } from "vitest";
import { typedText } from "../../src/room/items.ts";
import { sameName } from "../../src/room/views/moving.ts";

it.each([
  ["Pip", " pip "],
  ["E\u0301ve", "\u00c9ve"],
  ["\u00c9ve", "e\u0301ve"],
  ["\uff30\uff49\uff50", "Pip"],
])("the name %s is typed as %s", (name, typed) => {
  expect(sameName(typed, name)).toBe(true);
});

it("another name is none", () => {
  expect(sameName("Eve", "\u00c9ve")).toBe(false);
});

it.each([
  ["half a letter", "x\ud83dy", "xy"],
  ["the other half", "\udc00 hello ", "hello"],
  ["nothing but a half", " \ud83d ", ""],
  ["a whole one", "\u{1f331} leaf", "\u{1f331} leaf"],
])("what was typed is sent without halves of letters: %s", (_, typed, sent) => {
  expect(typedText(typed)).toBe(sent);
});
