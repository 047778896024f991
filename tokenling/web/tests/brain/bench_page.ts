/* A page with nothing but a brain, for tests: `window.bench`, called by `page.evaluate`. */

import type { GenerationRequest, OwnerReceipt } from "../../src/contract.ts";
import { canonicalJson } from "../../src/brain/canonical.ts";
import { BrainProblem, openBrain } from "../../src/brain/client.ts";
import { openSite } from "../../src/site/site.ts";
import { workerOf } from "../../src/site/trusted.ts";
import type { FromBench, Job } from "./bench_worker.ts";

/** What came of it, or the problem; errors of any other kind are the page's and fail the test. */
async function told<Value>(work: () => Promise<Value>): Promise<{ ok: Value } | { problem: unknown }> {
  try {
    return { ok: await work() };
  } catch (error) {
    if (error instanceof BrainProblem) return { problem: error.shape };
    if (error instanceof DOMException) return { problem: { code: error.name } };
    throw error;
  }
}

let site = await openSite(document.baseURI);
const progress: { loaded: number; total: number }[] = [];
let brain: Awaited<ReturnType<typeof openBrain>> | null = null;
let rawWorker: Worker | null = null;

const bench = {
  progress,
  /** The brain of this site, or of another one on this server. */
  open: (name?: string) =>
    told(async () => {
      if (name !== undefined) site = await openSite(new URL(`/${name}/`, document.baseURI).href);
      rawWorker?.terminate();
      rawWorker = null;
      brain = await openBrain(site, ({ loaded, total }) => progress.push({ loaded, total }));
      return brain.info;
    }),
  /** A turn with its times, its texts as they grew, and the receipt in its canonical bytes. */
  generate: (request: GenerationRequest) =>
    told(async () => {
      const texts: string[] = [];
      const began = performance.now();
      const { reply, receipt, choices } = await brain!.generate(request, { onText: (soFar) => texts.push(soFar) });
      return { reply, receipt: canonicalJson(receipt), choices, texts, ms: performance.now() - began };
    }),
  verify: (receipt: OwnerReceipt) => told(() => brain!.verify(receipt)),
  /** Starts a turn, stops it at its nth text, and begins the next at once. */
  stopped: (request: GenerationRequest, after: number) =>
    told(async () => {
      const stop = new AbortController();
      let texts = 0;
      let stoppedAt = 0;
      const first = told(() =>
        brain!.generate(request, {
          signal: stop.signal,
          onText: () => {
            texts += 1;
            if (texts === after) ((stoppedAt = performance.now()), stop.abort());
          },
        }),
      );
      if (after === 0) ((stoppedAt = performance.now()), stop.abort());
      const outcome = await first;
      const rejectedMs = performance.now() - stoppedAt;
      const again = await brain!.generate(request);
      return { outcome, texts, rejectedMs, again: { reply: again.reply, receipt: canonicalJson(again.receipt) } };
    }),
  /** A second turn while the first one runs. */
  crowded: (request: GenerationRequest) =>
    told(async () => {
      const first = brain!.generate(request);
      const second = await told(() => brain!.generate(request));
      return { second, first: (await first).reply };
    }),
  /** A job that the product's worker does not know, on a brain of its own. */
  raw: (job: Job) =>
    new Promise((resolve, reject) => {
      rawWorker ??= workerOf(new URL("bench-worker.js", document.baseURI).href);
      rawWorker.onerror = (event) => reject(new Error(event.message));
      rawWorker.onmessage = ({ data }: MessageEvent<FromBench>) =>
        "ok" in data ? resolve(data.ok) : reject(new Error(data.failed));
      rawWorker.postMessage({ root: site.root, job });
    }),
};

declare global {
  interface Window {
    bench: typeof bench;
  }
}
window.bench = bench;
document.documentElement.dataset["ready"] = "yes";
