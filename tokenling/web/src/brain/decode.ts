/* One turn: prefill, then a token at a time until the writer ends it. */

import { requestRefused } from "./problem.ts";
import type { DecodePlan } from "./plan.ts";
import { type Model, Steps } from "./steps.ts";
import { TagMasks } from "./tags.ts";
import type { TokenIndex } from "./token_index.ts";
import { Writer } from "./writer.ts";

/** What a turn runs on: a model, its tokens, and the masks kept from turn to turn. */
export class Lane {
  readonly masks: TagMasks;

  constructor(
    readonly model: Model,
    readonly index: TokenIndex,
  ) {
    this.masks = new TagMasks(index);
  }

  writer(plan: DecodePlan): Writer {
    return new Writer(plan, this.index, this.masks, this.model.config.eosIds);
  }
}

/** Asked between tokens, when messages have been heard: whether to stop, and told how far the text has come. */
export interface Watcher {
  isCancelled(): Promise<boolean>;
  onText(soFar: string): void;
}

export const UNWATCHED: Watcher = { isCancelled: () => Promise.resolve(false), onText: () => undefined };

export interface Timings {
  prefillMs: number;
  decodeMs: number;
}

/** Carries out `plan` from an empty cache. A cancelled turn ends with the stop `cancelled` and what was written. */
export async function decode(lane: Lane, plan: DecodePlan, watcher: Watcher): Promise<{ writer: Writer } & Timings> {
  checkPlan(lane, plan);
  const writer = lane.writer(plan);
  const started = performance.now();
  let decoding = started;
  await withSteps(lane, async (steps) => {
    if (await watcher.isCancelled()) return writer.cancel();
    let logits = await steps.prefill(plan.promptIds, plan.prefillChunk);
    decoding = performance.now();
    for (;;) {
      if (await watcher.isCancelled()) return writer.cancel();
      const before = writer.text.length;
      const feed = writer.write(logits);
      if (writer.text.length > before) watcher.onText(writer.text);
      if (feed.length === 0) return;
      logits = await steps.step(feed);
    }
  });
  return { writer, prefillMs: decoding - started, decodeMs: performance.now() - decoding };
}

/** Steps for the time of `work`; their caches are let go however it ends. */
export async function withSteps<Result>(lane: Lane, work: (steps: Steps) => Promise<Result>): Promise<Result> {
  const steps = new Steps(lane.model);
  try {
    return await work(steps);
  } finally {
    steps.dispose();
  }
}

/** Refuses a plan that could not run to its end on this brain. */
export function checkPlan(lane: Lane, plan: DecodePlan): void {
  const { positionsMax, vocabulary } = lane.model.config;
  const total = plan.promptIds.length + plan.maxNew;
  if (total > positionsMax)
    throw requestRefused("does_not_fit", "prompt and output", `${total} tokens`, `at most ${positionsMax}`);
  const ids = [plan.promptIds, ...plan.insertions.values()].flat();
  if (ids.some((id) => !(id >= 0 && id < vocabulary))) {
    throw requestRefused("id_range", "prompt_ids", "an id outside", `ids from 0 to ${vocabulary - 1}`);
  }
}
