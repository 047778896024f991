import { createHash } from "node:crypto";

import { describe, expect, test } from "vitest";

import { CARD_WORDS } from "../../src/home/card_words.ts";
import { read, written } from "../../src/home/cards.ts";
import { base64url, bytesOfBase64url } from "../../src/home/ids.ts";
import { CardRefused } from "../../src/home/problems.ts";
import { HOST, KEY, PET_ID } from "./fixtures.ts";

const card = { host: HOST, id: PET_ID, key: KEY };

describe("the list of words", () => {
  test("has 2048, in order, lower case, four to nine letters", () => {
    expect(CARD_WORDS).toHaveLength(2048);
    expect([...CARD_WORDS]).toEqual([...CARD_WORDS].sort());
    expect(CARD_WORDS.filter((word) => !/^[a-z]{4,9}$/.test(word))).toEqual([]);
  });

  test("has no two words with the same first four letters", () => {
    expect(new Set(CARD_WORDS.map((word) => word.slice(0, 4))).size).toBe(2048);
  });

  test("has no two words that differ in one letter, put, missing or changed", () => {
    const reduced = new Map<string, string>();
    const close: string[] = [];
    for (const word of CARD_WORDS) {
      // a changed letter leaves the same pattern; a missing one leaves the other word
      const patterns = [...word].map((_, at) => `${word.slice(0, at)}.${word.slice(at + 1)}`);
      const shorter = [...word].map((_, at) => word.slice(0, at) + word.slice(at + 1));
      for (const pattern of [...new Set(patterns)]) {
        const other = reduced.get(pattern);
        if (other !== undefined) close.push(`${other} ${word}`);
        reduced.set(pattern, word);
      }
      close.push(...shorter.filter((one) => CARD_WORDS.includes(one)).map((one) => `${one} ${word}`));
    }
    expect(close).toEqual([]);
  });

  test("is the one that old cards were written with", () => {
    const digest = createHash("sha256").update(CARD_WORDS.join(" ")).digest("hex");
    expect(digest).toBe("2acbec052c59669fe6a665a068ccd887bd83785e50f4b9068b8f9d9e4f658032");
  });
});

describe.each([
  "https://alder.example",
  "https://alder.example:8443",
  "http://127.0.0.1:8460",
  "http://localhost:1",
  `https://${"a".repeat(60)}.example`,
])("a card for %s", (host) => {
  test("is read again from its text and from its words", async () => {
    const made = await written({ ...card, host });
    expect(made.text).toMatch(/^tokenling-card 1 [A-Za-z0-9_-]+$/);
    expect(await read(made.text)).toEqual({ ...card, host });
    expect(await read(made.words.join(" "))).toEqual({ ...card, host });
  });

  test("is read from words that are cut to four letters, in capitals, over lines and commas", async () => {
    const { words } = await written({ ...card, host });
    const noted = words.map((word, at) => (at % 2 === 0 ? word.slice(0, 4).toUpperCase() : word));
    expect(await read(`  ${noted.join(",\n ")}\n`)).toEqual({ ...card, host });
  });
});

test("every host of any length survives its filling bits", async () => {
  for (let length = 1; length <= 40; length += 1) {
    const host = `https://${"h".repeat(length)}.example`;
    expect((await read((await written({ ...card, host })).words.join(" "))).host).toBe(host);
  }
});

test("one wrong word, or two that changed places, are noticed", async () => {
  const { words } = await written(card);
  for (let at = 0; at < words.length; at += 1) {
    const wrong = words.with(at, CARD_WORDS[(CARD_WORDS.indexOf(words[at]!) + 1) % 2048]!);
    await expect(read(wrong.join(" ")), `word ${at}`).rejects.toBeInstanceOf(CardRefused);
    const [one, next] = [words[at]!, words[(at + 1) % words.length]!];
    if (one === next) continue;
    const swapped = words.with(at, next).with((at + 1) % words.length, one);
    await expect(read(swapped.join(" "))).rejects.toBeInstanceOf(CardRefused);
  }
});

test("a word that is missing or written twice is counted, and what the card has is told", async () => {
  const { words } = await written(card);
  const wanted = words.length;
  for (let at = 2; at < wanted; at += 1) {
    const fields = { reason: "card_count", wanted };
    await expect(read(words.toSpliced(at, 1).join(" "))).rejects.toMatchObject({ fields: { ...fields, found: wanted - 1 } });
    await expect(read(words.toSpliced(at, 0, words[at]!).join(" "))).rejects.toMatchObject({
      fields: { ...fields, found: wanted + 1 },
    });
  }
});

test("words that do not begin like a card are counted, and no number is made up for them", async () => {
  const error = await read("zucchini ".repeat(49)).catch((refusal: CardRefused) => refusal);
  expect(error).toMatchObject({ code: "card_format", fields: { reason: "card_start", found: 49 } });
});

test.each([
  ["http://127.0.0.1:8460", 50],
  ["http://127.0.0.1:18460", 51],
  ["https://a.example", 46],
])("a card for %s has %i words", async (host, count) => {
  expect((await written({ ...card, host })).words).toHaveLength(count);
});

/** The bytes of a card with a right checksum over whatever stands before it. */
async function sealed(payload: number[]): Promise<string> {
  const head = new TextEncoder().encode("tokenling-card 1\n");
  const digest = createHash("sha256")
    .update(Uint8Array.from([...head, ...payload]))
    .digest();
  return `tokenling-card 1 ${base64url(Uint8Array.from([...payload, ...digest.subarray(0, 4)]))}`;
}
const nameOf = (name: string) => {
  const bytes = new TextEncoder().encode(name);
  return [bytes.length, ...bytes];
};
const rest = Array.from({ length: 48 }, (_, at) => at);

describe("a text that is no card", () => {
  test.each([
    ["nothing", "", "card_word"],
    ["prose", "hello little friend", "card_word"],
    ["a newer card", "tokenling-card 2 AAAA", "card_version"],
    ["a card without a body", "tokenling-card 1", "card_format"],
    ["a card that is cut off", "tokenling-card 1 AAAA", "card_format"],
    ["letters that are not base64url", "tokenling-card 1 ====", "card_format"],
    ["a novel", "abacus ".repeat(2000), "card_format"],
    ["words without a card in them", "abacus abacus abacus", "card_format"],
  ])("(%s) is refused with its code", async (_, text, code) => {
    await expect(read(text)).rejects.toMatchObject({ code });
  });

  test.each([
    ["a plain address of the outside", [1, ...nameOf("alder.example"), ...rest], "card_host"],
    ["an address with a user", [0, ...nameOf("a@alder.example"), ...rest], "card_host"],
    ["an address with a path", [0, ...nameOf("alder.example/x"), ...rest], "card_host"],
    ["a default port", [0, ...nameOf("alder.example:443"), ...rest], "card_host"],
    ["no address", [0, 0, ...rest], "card_host"],
    ["an address that only looks like another", [0, ...nameOf("аlder.example"), ...rest], "card_host"],
    ["an address that is written backwards", [0, ...nameOf("\u202eelpmaxe.redla"), ...rest], "card_host"],
    ["an address with a line break", [0, ...nameOf("alder.example\nevil.example"), ...rest], "card_host"],
    ["an address with a question", [0, ...nameOf("alder.example?x=1"), ...rest], "card_host"],
    ["an address with a fragment", [0, ...nameOf("alder.example#x"), ...rest], "card_host"],
    ["an address with a step up", [0, ...nameOf("alder.example/../.."), ...rest], "card_host"],
    ["a backslash for a slash", [0, ...nameOf("alder.example\\@evil.example"), ...rest], "card_host"],
    ["an address in capitals", [0, ...nameOf("ALDER.example"), ...rest], "card_host"],
    ["a number for an address", [0, ...nameOf("2130706433"), ...rest], "card_host"],
    ["markup", [0, ...nameOf("<img src=x>"), ...rest], "card_host"],
    ["no text at all", [0, 3, 0xff, 0xfe, 0x00, ...rest], "card_host"],
    ["unknown flags", [2, ...nameOf("alder.example"), ...rest], "card_version"],
    ["too few bytes", [0, ...nameOf("alder.example"), ...rest.slice(1)], "card_format"],
    ["too many bytes", [0, ...nameOf("alder.example"), ...rest, 0, 0, 0, 0], "card_format"],
  ])("(%s, well sealed) is refused with its code", async (_, payload, code) => {
    await expect(read(await sealed(payload as number[]))).rejects.toMatchObject({ code });
  });
});

test("a refusal quotes nothing of a card", async () => {
  const { text } = await written(card);
  const broken = `${text.slice(0, -2)}zz`;
  const error = await read(broken).catch((refusal: CardRefused) => refusal);
  expect(JSON.stringify([error, (error as Error).message])).not.toContain(KEY);
  expect(bytesOfBase64url(KEY)).toHaveLength(32);
});
