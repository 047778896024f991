import { expect, it } from "vitest";
import { speaksOfHarm } from "../../src/room/help.ts";
import { HELP_PHRASES } from "../../src/room/strings.ts";

it.each([
  "i want to die",
  "I WANT TO DIE!!",
  "sometimes i wanna die, pip",
  "i don't want to live any more",
  "I don’t want to be alive",
  "i keep thinking about suicide",
  "they would be better off without me",
  "i've been hurting myself again",
  "self-harm",
  "i will end\nmy life",
])("an owner's “%s” brings the help line", (text) => {
  expect(speaksOfHarm(text)).toBe(true);
});

it.each([
  "",
  "what a day",
  "i am dead tired",
  "that joke killed me",
  "i could kill for a coffee",
  "my phone died",
  "do you want to diet with me?",
  "the plant will die without water",
  "this is suicide squad",
  "i hurt my knee",
  "the sad end: my lifeguard left",
  "i bend my lifeline",
])("“%s” does not", (text) => {
  expect(speaksOfHarm(text)).toBe(false);
});

it("looks at a bounded piece of a text", () => {
  expect(speaksOfHarm(`${"a ".repeat(400)}i want to die`)).toBe(false);
  expect(speaksOfHarm("x".repeat(5_000_000))).toBe(false);
});

it("finds each phrase of the table inside a sentence", () => {
  expect(HELP_PHRASES.filter((phrase) => !speaksOfHarm(`well, ${phrase} i think`))).toEqual([]);
});
