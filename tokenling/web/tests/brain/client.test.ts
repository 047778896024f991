import { describe, expect, it } from "vitest";

import { BrainProblem, openBrain, openWorkerBrain } from "../../src/brain/client.ts";
import type { FromWorker, OpenMessage, ToWorker } from "../../src/brain/wire.ts";
import type { Generated, GenerationRequest } from "../../src/contract.ts";
import type { Site } from "../../src/site/site.ts";

const FILE = { url: "https://pets.example/f", bytes: 1, sha256: "00" };
const OPEN: OpenMessage = {
  kind: "open",
  ort: { module: "https://pets.example/ort.mjs", wasm: FILE },
  brain: { id: "b", precision: "q4", files: {} },
};
const INFO = { id: "b", features: [], promptVersion: 1, precision: "q4", files: {} };
const REQUEST: GenerationRequest = {
  header: "",
  lines: [],
  prefix: "Pip:",
  mode: "line",
  tags: [],
  answers: {},
  maxNew: 8,
  topK: 40,
  temperatureMilli: 850,
  topPMilli: 920,
  ctx: 1024,
  seed: 1,
};
const generated = (text: string): Generated => ({ reply: { text, stop: "eos" }, receipt: {}, choices: [] });

/** A worker whose part a test plays: it hears what is posted, and says what it wants. */
class PlayedWorker {
  onmessage: ((event: { data: FromWorker }) => void) | null = null;
  onerror: ((event: { preventDefault(): void }) => void) | null = null;
  readonly heard: ToWorker[] = [];
  terminated = false;

  constructor(private readonly part: (worker: PlayedWorker, message: ToWorker) => void) {}

  postMessage(message: ToWorker): void {
    this.heard.push(message);
    queueMicrotask(() => this.part(this, message));
  }

  say(data: FromWorker): void {
    if (!this.terminated) this.onmessage?.({ data });
  }

  die(): void {
    this.onerror?.({ preventDefault: () => undefined });
  }

  terminate(): void {
    this.terminated = true;
  }
}

type Part = (worker: PlayedWorker, message: ToWorker) => void;

/** Opens, then does as `asked`. */
function good(asked: Part): Part {
  return (worker, message) =>
    message.kind === "open" ? worker.say({ kind: "opened", info: INFO }) : asked(worker, message);
}

const answers = good((worker, message) => {
  if (message.kind === "ask")
    worker.say({
      kind: "answer",
      id: message.id,
      answer: { kind: "generated", generated: generated(`turn ${message.id}`) },
    });
});
const silent = good(() => undefined);
const dies = good((worker) => worker.die());
const crashes = good((worker) => worker.say({ kind: "crashed" }));

/** A brain whose nth worker plays the nth part; `workers` are those made so far. */
async function opened(...parts: Part[]) {
  const workers: PlayedWorker[] = [];
  const make = () => {
    const part = parts[workers.length];
    if (!part) throw new Error("a worker too many");
    workers.push(new PlayedWorker(part));
    return workers[workers.length - 1] as unknown as Worker;
  };
  const brain = await openWorkerBrain(OPEN, make, () => undefined);
  return { brain, workers, worker: (at: number) => workers[at] as PlayedWorker };
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 0));
const code = (expected: string) => expect.objectContaining({ name: "BrainProblem", code: expected });

describe("opening", () => {
  it("tells what was opened", async () => {
    const { brain } = await opened(answers);
    expect(brain.info).toEqual(INFO);
    expect((await brain.generate(REQUEST)).reply.text).toBe("turn 1");
  });

  it("is not tried again when the brain was refused", async () => {
    const problem = { kind: "brain", code: "file_changed", subject: "config.json", found: "a", expected: "b" } as const;
    await expect(opened((worker) => worker.say({ kind: "refused", problem }))).rejects.toEqual(code("file_changed"));
  });

  it.each([
    ["dies", (worker: PlayedWorker) => worker.die()],
    ["says that it crashed", (worker: PlayedWorker) => worker.say({ kind: "crashed" })],
  ])("is tried once more when the worker %s, and told when that one does too", async (_, fall) => {
    const { brain, workers } = await opened(fall, answers);
    expect((await brain.generate(REQUEST)).reply.text).toBe("turn 1");
    expect(workers.map((worker) => worker.terminated)).toEqual([true, false]);
    await expect(opened(fall, fall)).rejects.toEqual(code("worker_crashed"));
  });

  it("refuses a site without a brain, and one without ONNX Runtime", async () => {
    const site = {
      root: "https://pets.example/",
      ort: "app/ort/",
      files: {},
      brain: null,
      brainMissing: "not_portable",
    } as unknown as Site;
    await expect(openBrain(site)).rejects.toEqual(code("brain_missing"));
    const bare = { ...site, brain: { id: "b", base: "brain/b/", precision: "q4", files: {} } };
    await expect(openBrain(bare)).rejects.toEqual(code("file_missing"));
  });
});

describe("a worker that falls", () => {
  it.each([
    ["dies", dies],
    ["crashes", crashes],
  ])("is followed by another one that runs the same turn: it %s", async (_, falls) => {
    const { brain, worker } = await opened(falls, answers);
    expect((await brain.generate(REQUEST)).reply.text).toBe("turn 1");
    expect(worker(1).heard).toEqual([OPEN, { kind: "ask", id: 1, ask: { kind: "generate", request: REQUEST } }]);
    expect(worker(0).terminated).toBe(true);
  });

  it("is told when its turn takes the second one down too; the next turn begins with a third", async () => {
    const { brain, workers } = await opened(dies, dies, answers);
    await expect(brain.generate(REQUEST)).rejects.toEqual(code("worker_crashed"));
    expect((await brain.generate(REQUEST)).reply.text).toBe("turn 2");
    expect(workers.length).toBe(3);
  });

  it("is told when no other one opens", async () => {
    const problem = {
      kind: "lost",
      code: "file_unreachable",
      subject: "config.json",
      found: "a",
      expected: "b",
    } as const;
    const { brain } = await opened(dies, (worker) => worker.say({ kind: "refused", problem }), answers);
    await expect(brain.generate(REQUEST)).rejects.toEqual(code("file_unreachable"));
    expect((await brain.generate(REQUEST)).reply.text).toBe("turn 2");
  });

  it("is replaced when the next turn comes, if it fell while nothing ran", async () => {
    const { brain, worker, workers } = await opened(silent, answers);
    worker(0).die();
    expect(workers.length).toBe(1);
    expect((await brain.generate(REQUEST)).reply.text).toBe("turn 1");
  });
});

describe("one turn at a time", () => {
  it("refuses a second one, which harms neither", async () => {
    const { brain, worker } = await opened(silent);
    const first = brain.generate(REQUEST);
    await expect(brain.generate(REQUEST)).rejects.toEqual(code("lane_busy"));
    worker(0).say({ kind: "answer", id: 1, answer: { kind: "generated", generated: generated("first") } });
    expect((await first).reply.text).toBe("first");
  });

  it("gives a failed turn's problem and goes on", async () => {
    const problem = {
      kind: "turn",
      code: "logits_not_finite",
      subject: "logits",
      found: "NaN",
      expected: "x",
    } as const;
    const { brain, worker } = await opened(silent);
    const first = brain.generate(REQUEST);
    await settled();
    worker(0).say({ kind: "failed", id: 1, problem });
    await expect(first).rejects.toEqual(new BrainProblem(problem));
    const second = brain.verify({});
    await settled();
    const verdict = { verdict: "identical", reason: null, step: null, choices: [] } as const;
    worker(0).say({ kind: "answer", id: 2, answer: { kind: "verdict", verdict: { ...verdict, choices: [] } } });
    expect(await second).toEqual(verdict);
  });
});

describe("a proof", () => {
  const told = { verdict: "identical", reason: null, step: null } as const;
  const verdict = (id: number): FromWorker => {
    return { kind: "answer", id, answer: { kind: "verdict", verdict: { ...told, choices: [] } } };
  };
  const words = (id: number): FromWorker => {
    return { kind: "answer", id, answer: { kind: "generated", generated: generated(`turn ${id}`) } };
  };
  const asked = (worker: PlayedWorker) =>
    worker.heard.flatMap((message) => (message.kind === "ask" ? [message.id] : []));

  it("waits for the turn that runs, and lets the next turn go first", async () => {
    const { brain, worker } = await opened(silent);
    const [first, proof, other] = [brain.generate(REQUEST), brain.verify({}), brain.verify({})];
    await settled();
    expect(asked(worker(0))).toEqual([1]);
    worker(0).say(words(1));
    expect((await first).reply.text).toBe("turn 1");
    await settled();
    const second = brain.generate(REQUEST);
    worker(0).say(verdict(2));
    expect(await proof).toMatchObject(told);
    await settled();
    worker(0).say(words(4));
    expect((await second).reply.text).toBe("turn 4");
    await settled();
    worker(0).say(verdict(3));
    expect(await other).toMatchObject(told);
    expect(asked(worker(0))).toEqual([1, 2, 4, 3]);
  });

  it("that nobody waits for any more is never asked", async () => {
    const { brain, worker } = await opened(silent);
    const [first, stop] = [brain.generate(REQUEST), new AbortController()];
    const proof = brain.verify({}, { signal: stop.signal });
    stop.abort();
    await expect(proof).rejects.toMatchObject({ name: "AbortError" });
    await settled();
    worker(0).say(words(1));
    await first;
    await settled();
    expect(asked(worker(0))).toEqual([1]);
  });

  it("is refused behind too many others, a turn is not", async () => {
    const { brain, worker } = await opened(silent);
    const proofs = Array.from({ length: 8 }, () => brain.verify({}));
    await expect(brain.verify({})).rejects.toEqual(code("lane_busy"));
    const turn = brain.generate(REQUEST);
    for (const id of [1, 9, 2, 3, 4, 5, 6, 7, 8]) {
      await settled();
      worker(0).say(id === 9 ? words(id) : verdict(id));
    }
    expect((await turn).reply.text).toBe("turn 9");
    expect(await Promise.all(proofs)).toHaveLength(8);
  });
});

describe("a stopped turn", () => {
  it("is over for its caller at once; the next one waits until the worker has stopped", async () => {
    const { brain, worker } = await opened(silent);
    const [stop, texts] = [new AbortController(), [] as string[]];
    const first = brain.generate(REQUEST, { signal: stop.signal, onText: (soFar) => texts.push(soFar) });
    await settled();
    worker(0).say({ kind: "text", id: 1, soFar: "he" });
    stop.abort();
    await expect(first).rejects.toMatchObject({ name: "AbortError" });
    worker(0).say({ kind: "text", id: 1, soFar: "hello" });
    const second = brain.generate(REQUEST);
    await expect(brain.generate(REQUEST)).rejects.toEqual(code("lane_busy"));
    await settled();
    expect(worker(0).heard.at(-1)).toEqual({ kind: "stop", id: 1 });
    worker(0).say({ kind: "stopped", id: 1 });
    await settled();
    expect(worker(0).heard.at(-1)).toMatchObject({ kind: "ask", id: 2 });
    worker(0).say({ kind: "answer", id: 2, answer: { kind: "generated", generated: generated("second") } });
    expect((await second).reply.text).toBe("second");
    expect(texts).toEqual(["he"]);
  });

  it("never reaches the worker when it was stopped before", async () => {
    const { brain, worker } = await opened(answers);
    await expect(brain.generate(REQUEST, { signal: AbortSignal.abort() })).rejects.toMatchObject({
      name: "AbortError",
    });
    const stop = new AbortController();
    const first = brain.generate(REQUEST, { signal: stop.signal });
    stop.abort();
    await expect(first).rejects.toMatchObject({ name: "AbortError" });
    await settled();
    expect(worker(0).heard).toEqual([OPEN]);
    expect((await brain.generate(REQUEST)).reply.text).toBe("turn 2");
  });

  it("may have ended anyway, or have taken the worker down: the next one runs", async () => {
    for (const end of [
      (worker: PlayedWorker) => worker.die(),
      (worker: PlayedWorker) =>
        worker.say({ kind: "answer", id: 1, answer: { kind: "generated", generated: generated("late") } }),
    ]) {
      const { brain, worker, workers } = await opened(silent, answers);
      const stop = new AbortController();
      const first = brain.generate(REQUEST, { signal: stop.signal });
      await settled();
      stop.abort();
      await expect(first).rejects.toMatchObject({ name: "AbortError" });
      const second = brain.generate(REQUEST);
      end(worker(0));
      await settled();
      if (workers.length === 1)
        worker(0).say({ kind: "answer", id: 2, answer: { kind: "generated", generated: generated("turn 2") } });
      expect((await second).reply.text).toBe("turn 2");
    }
  });
});
