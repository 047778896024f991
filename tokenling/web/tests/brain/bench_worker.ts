/* Jobs on the brain's own modules that no owner has: plain encoding, fixed-count greedy decoding, measuring. */

import { decode, UNWATCHED, withSteps } from "../../src/brain/decode.ts";
import { type OpenBrain, openHere } from "../../src/brain/open.ts";
import { openMessage } from "../../src/brain/site_brain.ts";
import { openSite } from "../../src/site/site.ts";

export type Job =
  | { kind: "encode"; texts: string[] }
  | { kind: "greedy"; promptIds: number[]; count: number }
  /** Milliseconds of the step alone and of the whole decode loop, for one token each. */
  | { kind: "speed"; promptIds: number[]; count: number }
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

function planOf(promptIds: number[], count: number) {
  const sampling = { temperatureMilli: 0, topK: 0, topPMilli: 1000, seed: 0 };
  const insertions = new Map<string, number[]>();
  return { promptIds, maxNew: count, sampling, stops: [], constraint: null, insertions, insertionsMax: 3, prefillChunk: 0, ignoreEos: true };
}

async function work(brain: OpenBrain, job: Job): Promise<unknown> {
  if (job.kind === "encode") return job.texts.map((text) => brain.encoder.encode(text));
  const plan = planOf(job.promptIds, job.count);
  if (job.kind === "greedy") return (await decode(brain.lane, plan, UNWATCHED)).writer.tokenIds;
  if (job.kind === "memory") return memoryOver(brain, job);
  const { prefillMs, decodeMs, writer } = await decode(brain.lane, plan, UNWATCHED);
  const stepsMs = await withSteps(brain.lane, async (steps) => {
    await steps.prefill(job.promptIds, 0);
    const began = performance.now();
    for (const token of writer.tokenIds.slice(0, -1)) await steps.step([token]);
    return performance.now() - began;
  });
  return { prefillMs, decodeMs, stepsMs };
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
