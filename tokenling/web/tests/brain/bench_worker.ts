/* Jobs on the brain's own modules that no owner has: plain encoding, fixed-count greedy decoding, measuring. */

import { decode, UNWATCHED, withSteps } from "../../src/brain/decode.ts";
import { type OpenBrain, openHere } from "../../src/brain/open.ts";
import type { DecodePlan } from "../../src/brain/plan.ts";
import { openMessage } from "../../src/brain/site_brain.ts";
import { openSite } from "../../src/site/site.ts";

export type Job =
  | { kind: "encode"; texts: string[] }
  | { kind: "logits"; promptIds: number[] }
  | { kind: "greedy"; promptIds: number[]; count: number }
  /** Milliseconds of a prompt, of the tokens behind it, of their steps alone, and of choosing them among `tags`. */
  | { kind: "speed"; promptIds: number[]; count: number; tags: string[] }
  /** Bytes of WebAssembly's memory behind each of many turns, half of which are stopped. */
  | { kind: "memory"; promptIds: number[]; count: number; rounds: number };
export type FromBench = { ok: unknown } | { failed: string };

let opened: Promise<OpenBrain> | null = null;

/** Every memory that WebAssembly gets here, ONNX Runtime's among them. */
const memories: WebAssembly.Memory[] = [];
WebAssembly.Memory = class extends WebAssembly.Memory {
  constructor(descriptor: WebAssembly.MemoryDescriptor) {
    super(descriptor);
    memories.push(this);
  }
};

async function open(root: string): Promise<OpenBrain> {
  return openHere(openMessage(await openSite(root)), () => undefined);
}

function planOf(promptIds: number[], count: number): DecodePlan {
  const sampling = { temperatureMilli: 0, topK: 0, topPMilli: 1000, seed: 0 };
  const insertions = new Map<string, number[]>();
  return {
    promptIds,
    maxNew: count,
    sampling,
    stops: [],
    constraint: null,
    insertions,
    insertionsMax: 3,
    prefillChunk: 0,
    ignoreEos: true,
  };
}

async function work(brain: OpenBrain, job: Job): Promise<unknown> {
  if (job.kind === "encode") return job.texts.map((text) => brain.encoder.encode(text));
  if (job.kind === "logits") {
    return withSteps(brain.lane, async (steps) => [...(await steps.prefill(job.promptIds, 0))]);
  }
  const plan = planOf(job.promptIds, job.count);
  if (job.kind === "greedy") return (await decode(brain.lane, plan, UNWATCHED)).writer.tokenIds;
  if (job.kind === "memory") return memoryOver(brain, job);
  const { prefillMs, decodeMs, writer } = await decode(brain.lane, plan, UNWATCHED);
  const [stepsMs, rows] = await withSteps(brain.lane, async (steps) => {
    const found = [await steps.prefill(job.promptIds, 0)];
    const began = performance.now();
    for (const token of writer.tokenIds.slice(0, -1)) found.push(await steps.step([token]));
    return [performance.now() - began, found] as const;
  });
  return {
    prefillMs,
    decodeMs,
    stepsMs,
    choosingMs: choosing(brain, { ...plan, ...PRODUCTION, constraint: job.tags }, rows),
  };
}

/** How the engine asks for words. */
const PRODUCTION = { sampling: { temperatureMilli: 850, topK: 40, topPMilli: 920, seed: 7 }, stops: ["\n"] };

/** Milliseconds a token of the writer alone over these rows: the quickest of ten turns, as others run beside it. */
function choosing(brain: OpenBrain, plan: DecodePlan, rows: readonly Float32Array[]): number {
  const turns = Array.from({ length: 10 }, () => {
    const writer = brain.lane.writer(plan);
    const began = performance.now();
    for (const row of rows) if (writer.stop === null) writer.write(row);
    return (performance.now() - began) / writer.tokenIds.length;
  });
  return Math.min(...turns);
}

async function memoryOver(brain: OpenBrain, { promptIds, count, rounds }: Job & { kind: "memory" }): Promise<number[]> {
  const bytes: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    let asked = 0;
    const isCancelled = () => Promise.resolve(round % 2 === 1 && asked++ > count / 2);
    await decode(brain.lane, planOf(promptIds, count), { ...UNWATCHED, isCancelled });
    bytes.push(memories.reduce((sum, memory) => sum + memory.buffer.byteLength, 0));
  }
  return bytes;
}

self.onmessage = async ({ data }: MessageEvent<{ root: string; job: Job }>) => {
  try {
    opened ??= open(data.root);
    self.postMessage({ ok: await work(await opened, data.job) } satisfies FromBench);
  } catch (error) {
    self.postMessage({ failed: String(error) } satisfies FromBench);
  }
};
