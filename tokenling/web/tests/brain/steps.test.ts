import { describe, expect, it } from "vitest";

import type { ModelConfig } from "../../src/brain/config.ts";
import { decode, Lane, UNWATCHED } from "../../src/brain/decode.ts";
import type { GraphLayout } from "../../src/brain/graph.ts";
import type { DecodePlan } from "../../src/brain/plan.ts";
import { type Model, Steps } from "../../src/brain/steps.ts";
import { TokenIndex } from "../../src/brain/token_index.ts";

/** A tensor that knows whether it was let go. */
class PlainTensor {
  disposed = false;
  constructor(
    readonly type: string,
    readonly data: ArrayLike<number | bigint> & { subarray(from: number): Float32Array },
    readonly dims: readonly number[],
  ) {}
  dispose(): void {
    this.disposed = true;
  }
}

interface Fault {
  /** Positions by which caches grow too much. */
  grow?: number;
  logitsDims?: (rows: number) => number[];
  throwAt?: number;
}

const VOCABULARY = 4;
const CONFIG: ModelConfig = {
  modelType: "llama",
  layers: 1,
  kvHeads: 2,
  headDim: 3,
  vocabulary: VOCABULARY,
  positionsMax: 64,
  eosIds: [0],
};
const LAYOUT: GraphLayout = {
  inputs: [
    { name: "input_ids", element: "int64", rank: 2 },
    { name: "attention_mask", element: "int32", rank: 2 },
    { name: "cache_position", element: "int64", rank: 1 },
    { name: "token_type_ids", element: "int64", rank: 2 },
  ],
  caches: [
    { past: "past_key_values.0.key", present: "present.0.key", element: "float32" },
    { past: "past_key_values.0.value", present: "present.0.value", element: "float16" },
  ],
};

/** A model that always likes token 1 best, keeps a record of its runs, and counts the caches that are alive. */
function scripted(fault: Fault = {}) {
  const runs: Record<string, { dims: readonly number[]; data: number[] }>[] = [];
  const made: PlainTensor[] = [];
  const run = (feeds: Record<string, PlainTensor>) => {
    if (runs.length === fault.throwAt) throw new Error("a step that fails");
    runs.push(
      Object.fromEntries(
        Object.entries(feeds).map(([name, { dims, data }]) => [name, { dims, data: Array.from(data, Number) }]),
      ),
    );
    const rows = feeds["input_ids"]?.dims[1] ?? 0;
    const past = feeds["past_key_values.0.key"]?.dims[2] ?? 0;
    const dims = [1, 2, past + rows + (fault.grow ?? 0), 3];
    const caches = LAYOUT.caches.map(
      (pair) => [pair.present, new PlainTensor("float32", new Float32Array() as never, dims)] as const,
    );
    made.push(...caches.map(([, tensor]) => tensor));
    const logits = Float32Array.from({ length: rows * VOCABULARY }, (_, at) => (at % VOCABULARY === 1 ? 9 : at / 100));
    const tensor = new PlainTensor("float32", logits as never, fault.logitsDims?.(rows) ?? [1, rows, VOCABULARY]);
    return Promise.resolve({ ...Object.fromEntries(caches), logits: tensor });
  };
  const model = { session: { run }, layout: LAYOUT, config: CONFIG, Tensor: PlainTensor } as unknown as Model;
  return { model, runs, alive: () => made.filter((tensor) => !tensor.disposed).length };
}

function plan(promptIds: number[], maxNew: number, prefillChunk = 0): DecodePlan {
  const sampling = { temperatureMilli: 0, topK: 0, topPMilli: 1000, seed: 0 };
  return {
    promptIds,
    maxNew,
    sampling,
    stops: [],
    constraint: null,
    insertions: new Map(),
    insertionsMax: 3,
    prefillChunk,
    ignoreEos: false,
  };
}

const INDEX = new TokenIndex([new Uint8Array(), Uint8Array.of(0x61), Uint8Array.of(0x62), Uint8Array.of(0x63)]);

describe("steps", () => {
  it("feed ids, places, a mask and grown caches in the graph's own types", async () => {
    const { model, runs, alive } = scripted();
    const steps = new Steps(model);
    await steps.prefill([3, 2, 1], 0);
    expect([...(await steps.step([2]))]).toEqual([0, 9, Math.fround(0.02), Math.fround(0.03)]);
    expect(runs[0]).toMatchObject({
      input_ids: { dims: [1, 3], data: [3, 2, 1] },
      cache_position: { dims: [3], data: [0, 1, 2] },
    });
    expect(runs[1]).toMatchObject({
      input_ids: { dims: [1, 1], data: [2] },
      attention_mask: { dims: [1, 4], data: [1, 1, 1, 1] },
      cache_position: { dims: [1], data: [3] },
      token_type_ids: { data: [0] },
      "past_key_values.0.key": { dims: [1, 2, 3, 3] },
    });
    expect(alive()).toBe(2);
    steps.dispose();
    expect(alive()).toBe(0);
  });

  it.each([
    [0, [5]],
    [1, [1, 1, 1, 1, 1]],
    [2, [2, 2, 1]],
    [3, [3, 2]],
    [5, [5]],
    [9, [5]],
  ])("prefill in chunks of at most %i", async (chunk, expected) => {
    const { model, runs } = scripted();
    await new Steps(model).prefill([1, 2, 3, 1, 2], chunk);
    expect(runs.map((run) => run["input_ids"]?.data.length)).toEqual(expected);
    expect(runs.flatMap((run) => run["input_ids"]?.data)).toEqual([1, 2, 3, 1, 2]);
  });

  it.each<[string, string, Fault]>([
    ["a cache that grows by more than was run", "cache_growth", { grow: 1 }],
    ["a cache that does not grow", "cache_growth", { grow: -2 }],
    ["logits of another vocabulary", "logits_shape", { logitsDims: (rows) => [1, rows, 5] }],
    ["logits of two sequences", "logits_shape", { logitsDims: (rows) => [2, rows, VOCABULARY] }],
    ["logits of too few rows", "logits_shape", { logitsDims: () => [1, 0, VOCABULARY] }],
    ["logits without a batch", "logits_shape", { logitsDims: (rows) => [rows, VOCABULARY] }],
  ])("refuse %s", async (_, code, fault) => {
    const { model, alive } = scripted(fault);
    await expect(decode(new Lane(model, INDEX), plan([1, 2], 4), UNWATCHED)).rejects.toMatchObject({
      code,
      kind: "turn",
    });
    expect(alive()).toBe(0);
  });
});

describe("a turn", () => {
  it("keeps no cache behind, whether it ends, fails or is stopped", async () => {
    const ended = scripted();
    const { writer } = await decode(new Lane(ended.model, INDEX), plan([1, 2], 5), UNWATCHED);
    expect([writer.tokenIds, writer.text, writer.stop]).toEqual([[1, 1, 1, 1, 1], "aaaaa", "length"]);
    const failed = scripted({ throwAt: 3 });
    await expect(decode(new Lane(failed.model, INDEX), plan([1, 2], 5), UNWATCHED)).rejects.toThrow(
      "a step that fails",
    );
    expect([ended.alive(), failed.alive()]).toEqual([0, 0]);
  });

  it.each([0, 1, 2, 4])("stops within one token: asked %i times before", async (answered) => {
    const { model, runs, alive } = scripted();
    let asked = 0;
    const texts: string[] = [];
    const watcher = {
      isCancelled: () => Promise.resolve(asked++ >= answered),
      onText: (soFar: string) => void texts.push(soFar),
    };
    const { writer } = await decode(new Lane(model, INDEX), plan([1, 2], 9), watcher);
    expect(writer.stop).toBe("cancelled");
    expect(runs.length).toBe(answered);
    expect(writer.tokenIds.length).toBe(Math.max(0, answered - 1));
    expect(texts).toEqual(["a", "aa", "aaa"].slice(0, Math.max(0, answered - 1)));
    expect(alive()).toBe(0);
  });

  it.each([
    ["longer than the model's positions", "does_not_fit", plan([1], 64)],
    ["with an id that the graph does not have", "id_range", plan([1, VOCABULARY], 4)],
    ["with an id that is none", "id_range", plan([1, undefined as never], 4)],
  ])("is refused before anything runs: %s", async (_, code, refused) => {
    const { model, runs } = scripted();
    await expect(decode(new Lane(model, INDEX), refused, UNWATCHED)).rejects.toMatchObject({ code, kind: "request" });
    expect(runs).toEqual([]);
  });
});
