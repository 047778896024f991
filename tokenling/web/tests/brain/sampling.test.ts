import { describe, expect, it } from "vitest";

import { choose, couldChoose, draw64, topIds } from "../../src/brain/sampling.ts";
import { SAMPLING } from "./vectors.ts";

const masked = (logits: (number | null)[]) => Float32Array.from(logits, (value) => value ?? -Infinity);

describe("sampling", () => {
  it("draws what an independent implementation draws", () => {
    expect(SAMPLING.draws.length).toBeGreaterThan(0);
    for (const { seed, step, draw } of SAMPLING.draws) expect(String(draw64(seed, step))).toBe(draw);
  });

  it("chooses the token of each vector", () => {
    const wrong = SAMPLING.cases.filter(({ logits, step, token, ...sampling }) => {
      return choose(masked(logits), sampling, step).token !== token;
    });
    expect(SAMPLING.cases.length).toBeGreaterThan(80);
    expect(wrong).toEqual([]);
  });

  it("could always have chosen what it chose", () => {
    for (const { logits, step, token, ...sampling } of SAMPLING.cases) {
      expect(couldChoose(masked(logits), sampling, step, token)).toBe(true);
    }
  });

  it("finds the same top by insertion as by sorting, ties by the lower id", () => {
    const logits = Float32Array.from({ length: 900 }, (_, id) => (id % 97 === 5 ? -Infinity : (id * 7919) % 61));
    const sorted = [...logits.keys()].sort((a, b) => (logits[b] as number) - (logits[a] as number) || a - b);
    for (const count of [1, 2, 40, 256, 257, 900]) expect([...topIds(logits, count)]).toEqual(sorted.slice(0, count));
    expect([...topIds(logits, 0)]).toEqual(sorted);
  });

  it("keeps the exact share where doubles would not: more than 2^11 tokens of full weight", () => {
    const flat = new Float32Array(2 ** 16);
    const setting = { temperatureMilli: 1000, topK: 0, topPMilli: 999, seed: 2 ** 53 - 1 };
    const kept = Math.ceil((2 ** 16 * 999) / 1000);
    for (let step = 0; step < 40; step += 1) {
      const expected = Number((draw64(setting.seed, step) * BigInt(kept)) >> 64n);
      expect(choose(flat, setting, step).token).toBe(expected);
    }
  });

  it.each([
    ["a NaN among finite ones", [1, NaN, 3]],
    ["a NaN in front", [NaN, 2, 3]],
    ["nothing legal", [-Infinity, -Infinity]],
    ["infinity", [1, Infinity]],
    ["no token at all", []],
  ])("calls a fault what is no row of logits: %s", (_, logits) => {
    const setting = { temperatureMilli: 850, topK: 40, topPMilli: 920, seed: 1 };
    expect(() => choose(Float32Array.from(logits), setting, 0)).toThrow(
      expect.objectContaining({ code: "logits_not_finite" }),
    );
  });

  it("calls a greedy choice near when the runner-up is within twice the allowed change", () => {
    const greedy = { temperatureMilli: 0, topK: 0, topPMilli: 1000, seed: 0 };
    expect(choose(Float32Array.of(1, 1.0019), greedy, 0)).toEqual({ token: 1, nearTie: true });
    expect(choose(Float32Array.of(1, 1.0021), greedy, 0)).toEqual({ token: 1, nearTie: false });
    expect(couldChoose(Float32Array.of(1, 1.0019), greedy, 0, 0)).toBe(true);
    expect(couldChoose(Float32Array.of(1, 1.0021), greedy, 0, 0)).toBe(false);
  });
});
