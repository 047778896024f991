/* The page's side of the brain: one turn at a time, stopped within one token, and a second worker when the first dies.

   Proofs wait for turns and for each other, and a turn goes before proofs that wait: an owner who looks into a mind must
   not cost a pet its turn. A second turn at once is a fault of the caller.

   A turn is a function of its request, so one that died with its worker is run again, once; a turn that takes two
   workers down is told. The next one begins with a fresh worker. */

import type { Brain, BrainInfo, Generated, GenerationRequest, OwnerReceipt, Progress, Verdict } from "../contract.ts";
import { addressOf, type Site } from "../site/site.ts";
import { workerOf } from "../site/trusted.ts";
import { STARTING_TICKS_MAX, Vigil, vigilName } from "../site/vigil.ts";
import { BrainProblem, lost, turnFailed } from "./problem.ts";
import { openMessage } from "./site_brain.ts";
import type { Answer, Ask, FromWorker, OpenMessage, ToWorker } from "./wire.ts";

export { BrainProblem } from "./problem.ts";

interface Options {
  signal?: AbortSignal;
  onText?: (soFar: string) => void;
}

/** Proofs that wait or run. A guess: an owner can press few buttons in the second that one takes. */
const PROOFS_MAX = 8;

/** One question to the worker. It stays the worker's until that answered, even when its caller has gone. */
interface Job {
  id: number;
  ask: Ask;
  onText: ((soFar: string) => void) | undefined;
  /** Settles it for the caller; the first call counts. */
  resolve(answer: Answer): void;
  reject(error: unknown): void;
  /** Whether its caller has been answered. */
  settled: boolean;
  /** Whether a worker has it. */
  sent: boolean;
  /** Whether it took a worker down before. */
  again: boolean;
  /** Called once when nothing of it is left. */
  end(): void;
}

/** Opens the site's brain in a worker. Rejects with a `BrainProblem`; of kind `lost`, a later try may succeed. */
export async function openBrain(
  site: Site,
  onProgress: (progress: Progress) => void = () => undefined,
): Promise<Brain> {
  const message = openMessage(site);
  const total = Object.values(message.brain.files).reduce((sum, file) => sum + file.bytes, message.ort.wasm.bytes);
  let loaded = 0;
  const onBytes = (count: number) =>
    onProgress({ part: "brain", loaded: (loaded = Math.min(loaded + count, total)), total });
  const makeWorker = () => workerOf(addressOf(site, site.workers.brain));
  return openWorkerBrain(message, makeWorker, onBytes);
}

/** The brain behind whatever worker `makeWorker` makes. */
export async function openWorkerBrain(
  message: OpenMessage,
  makeWorker: () => Worker,
  onBytes: (count: number) => void,
): Promise<Brain> {
  const brain = new WorkerBrain(message, makeWorker, onBytes);
  await brain.launch().catch((problem: unknown) => {
    if (problem instanceof BrainProblem && problem.code === "worker_crashed") return brain.launch();
    throw problem;
  });
  return brain;
}

class WorkerBrain implements Brain {
  #info: BrainInfo | null = null;
  #worker: Worker | null = null;
  #vigil: Vigil | null = null;
  #launching: Promise<void> | null = null;
  /** The job that the worker has or will have next; its caller may have gone. */
  #running: Job | null = null;
  #waiting: Job[] = [];
  #nextId = 1;

  constructor(
    private readonly message: OpenMessage,
    private readonly makeWorker: () => Worker,
    private readonly onBytes: (count: number) => void,
  ) {}

  get info(): BrainInfo {
    if (!this.#info) throw new Error("the brain was never opened");
    return this.#info;
  }

  async generate(request: GenerationRequest, options: Options = {}): Promise<Generated> {
    const answer = await this.#run({ kind: "generate", request }, options);
    if (answer.kind !== "generated") throw new Error("a verdict where words were asked for");
    return answer.generated;
  }

  async verify(receipt: OwnerReceipt, options: Options = {}): Promise<Verdict> {
    const answer = await this.#run({ kind: "verify", receipt }, options);
    if (answer.kind !== "verdict") throw new Error("words where a verdict was asked for");
    return answer.verdict;
  }

  /** A worker with the brain open. */
  launch(): Promise<void> {
    this.#launching ??= new Promise((resolve, reject) => this.#launch(resolve, reject));
    return this.#launching;
  }

  #launch(resolve: () => void, reject: (problem: BrainProblem) => void): void {
    const worker = this.makeWorker();
    this.#worker = worker;
    const name = vigilName();
    let opened = false;
    const fail = (problem: BrainProblem) => {
      this.#drop();
      reject(problem);
    };
    // ended without a word
    const vigil = new Vigil(name, () => (opened ? this.#recover() : fail(crashed())));
    this.#vigil = vigil;
    vigil.owes(STARTING_TICKS_MAX);
    worker.onerror = (event) => {
      event.preventDefault();
      fail(crashed());
    };
    worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
      if (data.kind === "bytes") vigil.owes(STARTING_TICKS_MAX);
      if (data.kind === "bytes") return this.onBytes(data.count);
      if (data.kind === "refused") return fail(new BrainProblem(data.problem));
      if (data.kind !== "opened") return fail(crashed());
      this.#info = data.info;
      opened = true;
      vigil.ready();
      worker.onmessage = (event: MessageEvent<FromWorker>) => this.#hear(event.data);
      worker.onerror = (event) => {
        event.preventDefault();
        this.#recover();
      };
      resolve();
    };
    this.#tell(name === null ? this.message : { ...this.message, vigil: name });
  }

  async #run(ask: Ask, { signal, onText }: Options): Promise<Answer> {
    if (this.#isCrowded(ask)) throw turnFailed("lane_busy", "brain", "one that still runs", "one at a time");
    if (signal?.aborted) throw stopped();
    return new Promise((resolve, reject) => {
      const job = newJob(this.#nextId++, ask, onText, resolve, reject);
      const stop = () => this.#stop(job);
      signal?.addEventListener("abort", stop, { once: true });
      job.end = () => signal?.removeEventListener("abort", stop);
      if (ask.kind === "generate") this.#waiting.unshift(job);
      else this.#waiting.push(job);
      this.#next();
    });
  }

  #isCrowded(ask: Ask): boolean {
    const jobs = [this.#running, ...this.#waiting].filter((job) => job !== null && !job.settled);
    const alike = jobs.filter((job) => job?.ask.kind === ask.kind);
    return alike.length >= (ask.kind === "generate" ? 1 : PROOFS_MAX);
  }

  #next(): void {
    if (this.#running) return; // the turn before may still be stopping
    this.#running = this.#waiting.shift() ?? null;
    if (this.#running) void this.#send(this.#running);
  }

  /** Hands a job to the worker, starting one if none is there. */
  async #send(job: Job): Promise<void> {
    try {
      await this.launch();
    } catch (problem) {
      const fell = problem instanceof BrainProblem && problem.code === "worker_crashed";
      if (job.again || !fell) return this.#finish(job, () => job.reject(problem));
      job.again = true;
      return this.#send(job);
    }
    if (job.settled) return this.#finish(job, () => undefined);
    job.sent = true;
    this.#vigil?.owes();
    this.#tell({ kind: "ask", id: job.id, ask: job.ask });
  }

  /** The caller is answered now; the worker stops at its next token. */
  #stop(job: Job): void {
    job.reject(stopped());
    if (this.#waiting.includes(job)) {
      this.#waiting = this.#waiting.filter((other) => other !== job);
      job.end();
    } else if (job.sent) this.#tell({ kind: "stop", id: job.id });
  }

  #hear(message: FromWorker): void {
    if (message.kind === "crashed") return this.#recover();
    const job = this.#running;
    if (!job || !("id" in message) || message.id !== job.id) return;
    if (message.kind === "text") {
      this.#vigil?.owes();
      if (!job.settled) job.onText?.(message.soFar);
    } else if (message.kind === "answer") this.#finish(job, () => job.resolve(message.answer));
    else if (message.kind === "failed") this.#finish(job, () => job.reject(new BrainProblem(message.problem)));
    else this.#finish(job, () => undefined);
  }

  /** The worker is gone. Its job is given to another one, if it did not take one down before. */
  #recover(): void {
    this.#drop();
    const job = this.#running;
    if (!job) return;
    if (job.settled || job.again) return this.#finish(job, () => job.reject(crashed()));
    job.again = true;
    void this.#send(job);
  }

  #finish(job: Job, settle: () => void): void {
    settle();
    job.end();
    this.#vigil?.rest();
    this.#running = null;
    this.#next();
  }

  #drop(): void {
    this.#worker?.terminate();
    this.#vigil?.end();
    this.#worker = null;
    this.#launching = null;
  }

  #tell(message: ToWorker): void {
    this.#worker?.postMessage(message);
  }
}

function crashed(): BrainProblem {
  return lost("worker_crashed", "the brain's worker", "its end", "a worker that goes on");
}

function stopped(): DOMException {
  return new DOMException("the turn was stopped", "AbortError");
}

function newJob(
  id: number,
  ask: Ask,
  onText: Options["onText"],
  resolve: (answer: Answer) => void,
  reject: (error: unknown) => void,
): Job {
  const once = <Value>(settle: (value: Value) => void) => {
    return (value: Value) => {
      if (!job.settled) settle(value);
      job.settled = true;
    };
  };
  const settles = { resolve: once(resolve), reject: once(reject), settled: false };
  const job: Job = { id, ask, onText, sent: false, again: false, end: () => undefined, ...settles };
  return job;
}
