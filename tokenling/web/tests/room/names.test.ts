import { expect, it } from "vitest";
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
