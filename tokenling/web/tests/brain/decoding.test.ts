import { describe, expect, it } from "vitest";

import { canonicalJson, sha256 } from "../../src/brain/canonical.ts";
import { fitPrompt } from "../../src/brain/plan.ts";
import { couldChoose } from "../../src/brain/sampling.ts";
import { OUTSIDE, type State, TagMask, TagMasks } from "../../src/brain/tags.ts";
import { TextStream } from "../../src/brain/text_stream.ts";
import { NEVER, TokenIndex } from "../../src/brain/token_index.ts";
import { Writer } from "../../src/brain/writer.ts";
import { bytesOf, planOf, rowsOf, tableOf, type TurnVector, unrun, VECTORS } from "./vectors.ts";

const EOS = [0];
const INDEXES = Object.fromEntries(Object.keys(VECTORS.tables).map((name) => [name, new TokenIndex(tableOf(name))]));
const indexOf = (name: string) => INDEXES[name] as TokenIndex;

function along(mask: TagMask, way: number[]): State {
  return way.reduce<State>((state, token) => {
    const walk = mask.walk(state, token);
    if (walk === null) throw new Error("an illegal way");
    return walk.state;
  }, OUTSIDE);
}

describe("masks of tags", () => {
  it.each(VECTORS.masks)("let the runtime's ids be written: $table, $tags", ({ table, tags, insertions, places }) => {
    const mask = new TagMask(indexOf(table), tags, new Map(Object.entries(insertions)));
    for (const { way, closing, costs, labels } of places) {
      const state = along(mask, way);
      const expected = new Int16Array(indexOf(table).size).fill(NEVER);
      for (const [cost, ids] of Object.entries(costs)) for (const id of unrun(ids)) expected[id] = Number(cost);
      expect(mask.costs(state)).toEqual(expected);
      expect(mask.closingCost(state.positions)).toBe(closing);
      for (const [token, [label, closed]] of Object.entries(labels)) {
        expect(mask.label(state, Number(token))).toBe(label);
        expect(mask.walk(state, Number(token))?.closed).toEqual(closed);
      }
      for (const room of [0, 1, 3, 40, 3000])
        expect([...mask.legal(state, room)]).toEqual([...expected].map((cost) => +(cost <= room)));
    }
  });

  it("refuses what is no tag", () => {
    const refused = [
      "",
      "[",
      "]",
      "[]",
      "eat",
      "[eat",
      "eat]",
      "[e[at]",
      "[e]at]",
      "[a\nb]",
      "[…]",
      "[a … b]",
      "[…a]",
      `[${"x".repeat(260)}]`,
    ];
    for (const tag of refused) {
      expect(() => new TagMask(indexOf("bytes"), [tag], new Map())).toThrow(
        expect.objectContaining({ code: "tag_malformed" }),
      );
    }
    const many = Array.from({ length: 513 }, (_, at) => `[t${at}]`);
    expect(() => new TagMasks(indexOf("bytes")).of(many, new Map())).toThrow(
      expect.objectContaining({ code: "tags_too_many" }),
    );
  });

  it("are kept from turn to turn, the eight wanted last", () => {
    const masks = new TagMasks(indexOf("bytes"));
    const first = masks.of(["[eat]"], new Map());
    for (let at = 0; at < 7; at += 1) masks.of([`[t${at}]`], new Map());
    expect(masks.of(["[eat]"], new Map())).toBe(first);
    expect(masks.of(["[eat]"], new Map([["[eat]", 1]]))).not.toBe(first);
    for (let at = 0; at < 8; at += 1) masks.of([`[u${at}]`], new Map());
    expect(masks.of(["[eat]"], new Map())).not.toBe(first);
  });
});

function written(vector: TurnVector): { writer: Writer; feeds: number[]; near: [number, number[]][] } {
  const index = indexOf(vector.table);
  const plan = planOf(vector.plan);
  const writer = new Writer(plan, index, new TagMasks(index), EOS);
  const rows = rowsOf(vector.turn, index.size, index.opening);
  const [feeds, near]: [number[], [number, number[]][]] = [[], []];
  for (let step = 0; step === 0 || feeds[step - 1] !== 0; step += 1) {
    feeds.push(writer.write(rows[step % rows.length] as Float32Array).length);
    if (!(step in vector.couldChoose)) continue;
    const ids = [...writer.legal.keys()].filter((id) => couldChoose(writer.legal, plan.sampling, step, id));
    near.push([step, ids]);
  }
  return { writer, feeds, near };
}

describe("a turn's writer", () => {
  it.each(VECTORS.turns)("writes what the runtime writes: turn $turn", (vector) => {
    const { writer, feeds, near } = written(vector);
    const { tokens, text, stop, insertionsUsed, nearTies } = vector;
    expect(writer).toMatchObject({ tokenIds: tokens, text, stop, insertionsUsed, nearTies });
    expect(writer.choices.map(({ step, sharesPpm }) => [step, Object.entries(sharesPpm)])).toEqual(
      vector.choices.map(([step, shares]) => [step, Object.entries(shares)]),
    );
    expect(feeds).toEqual(vector.feeds);
    expect(near).toEqual(Object.entries(vector.couldChoose).map(([step, ids]) => [Number(step), unrun(ids)]));
  });

  it("met tags, lookups, near ties and every stop in these turns: the comparison would prove little else", () => {
    const total = (count: (turn: TurnVector) => number) => VECTORS.turns.reduce((sum, turn) => sum + count(turn), 0);
    expect(total((turn) => turn.insertionsUsed.length)).toBeGreaterThan(20);
    expect(total((turn) => turn.choices.length)).toBeGreaterThan(200);
    expect(total((turn) => turn.nearTies.length)).toBeGreaterThan(20);
    expect(new Set(VECTORS.turns.map((turn) => turn.stop))).toEqual(new Set(["eos", "newline", "length"]));
  });
});

describe("a text stream", () => {
  it.each(VECTORS.texts)("lets out what the runtime's does: $pieces", ({ pieces, stops, out, rest }) => {
    const stream = new TextStream(stops);
    const found = [];
    for (const piece of pieces) {
      found.push(stream.push(bytesOf(piece)));
      if (stream.stopped) break;
    }
    expect(found).toEqual(out);
    expect(stream.stopped ? "" : stream.finish()).toBe(rest);
  });

  it("drops bytes that a fatal decoder refuses, whatever they are", () => {
    const lossy = new TextDecoder("utf-8", { ignoreBOM: true });
    for (let seed = 1; seed < 400; seed += 1) {
      const bytes = Uint8Array.from({ length: 24 }, (_, at) => (Math.imul(seed * 31 + at, 0x9e3779b1) >>> 13) & 0xff);
      const stream = new TextStream([]);
      for (const byte of bytes) stream.push(Uint8Array.of(byte));
      expect(stream.text).toBe(lossy.decode(bytes).replaceAll("\ufffd", ""));
    }
  });
});

describe("a prompt", () => {
  /** Three bytes are a token, a newline before an "O" is one more: joined texts come out shorter or longer. */
  const encoder = {
    encode(text: string): number[] {
      const bytes = new TextEncoder().encode(text);
      return [...bytes.filter((_, at) => at % 3 === 0), ...(text.match(/\nO/g) ?? []).map(() => 256)];
    },
  };
  const rest = {
    mode: "line",
    tags: [],
    answers: {},
    maxNew: 8,
    topK: 40,
    temperatureMilli: 850,
    topPMilli: 920,
    ctx: 1024,
    seed: 1,
  } as const;

  it.each(VECTORS.fits)("keeps the lines that the runtime keeps: budget $budget", ({ budget, ids, ...parts }) => {
    const fit = () => fitPrompt({ ...rest, ...parts, tags: [] }, encoder, budget);
    if (ids === null) expect(fit).toThrow(expect.objectContaining({ code: "does_not_fit" }));
    else expect(fit()).toEqual(ids);
  });
});

describe("canonical JSON", () => {
  it.each(VECTORS.canonical)("has the runtime's bytes: $text", async ({ value, text, sha256: digest }) => {
    expect(canonicalJson(value)).toBe(text);
    expect(await sha256(canonicalJson(value))).toBe(digest);
  });

  it("has no word for numbers that others would write in another way", () => {
    for (const value of [0.5, 2 ** 53, NaN, Infinity]) expect(() => canonicalJson({ a: [value] })).toThrow(RangeError);
  });
});
