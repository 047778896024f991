/* Jobs on the brain's own modules that no owner has: plain encoding, fixed-count greedy decoding. */

import { decode, UNWATCHED, withSteps } from "../../src/brain/decode.ts";
import { type OpenBrain, openHere } from "../../src/brain/open.ts";
import { openMessage } from "../../src/brain/site_brain.ts";
import { openSite } from "../../src/site/site.ts";

export type Job =
  | { kind: "encode"; texts: string[] }
  | { kind: "greedy"; promptIds: number[]; count: number }
  /** Milliseconds of the step alone and of the whole decode loop, for one token each. */
  | { kind: "speed"; promptIds: number[]; count: number };
export type FromBench = { ok: unknown } | { failed: string };

let opened: Promise<OpenBrain> | null = null;

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
  const { prefillMs, decodeMs, writer } = await decode(brain.lane, plan, UNWATCHED);
  const stepsMs = await withSteps(brain.lane, async (steps) => {
    await steps.prefill(job.promptIds, 0);
    const began = performance.now();
    for (const token of writer.tokenIds.slice(0, -1)) await steps.step([token]);
    return performance.now() - began;
  });
  return { prefillMs, decodeMs, stepsMs };
}

self.onmessage = async ({ data }: MessageEvent<{ root: string; job: Job }>) => {
  try {
    opened ??= open(data.root);
    self.postMessage({ ok: await work(await opened, data.job) } satisfies FromBench);
  } catch (error) {
    self.postMessage({ failed: String(error) } satisfies FromBench);
  }
};
