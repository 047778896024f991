/* The page's side of the engine: calls by name, typed refusals, and a second worker when the first one dies.

   Every function of the engine is pure, so a call that died with its worker is simply made again. */

import type { Engine, EngineCalls, Progress } from "../contract.ts";
import { addressOf, bytesOf, listedFile, type Site } from "../site/site.ts";
import { workerOf } from "../site/trusted.ts";
import { STARTING_TICKS_MAX, Vigil, vigilName } from "../site/vigil.ts";
import type { FromWorker, StartFault, ToWorker } from "./wire.ts";

/** A typed refusal of the engine. Nothing has changed. */
export class EngineRefused extends Error {
  override name = "EngineRefused";
  constructor(
    readonly error: string,
    readonly code: string,
    readonly path: string,
  ) {
    super(`${error}: ${code}${path ? ` at ${path}` : ""}`);
  }
}

/** A fault of the rules over this pet: the class of the exception and its frames, never a value. */
export class EngineFault extends Error {
  override name = "EngineFault";
  constructor(
    readonly error: string,
    readonly frames: readonly string[],
  ) {
    super(`the rules failed: ${error}`);
  }
}

/** The engine cannot be started here. `code` tells what is at fault, `reason` is the browser's or Pyodide's own word. */
export class EngineUnavailable extends Error {
  override name = "EngineUnavailable";
  constructor(
    readonly reason: string,
    readonly code: StartFault = "failed",
  ) {
    super(`the engine did not start: ${reason}`);
  }
}

interface Waiting {
  resolve(json: string): void;
  reject(error: unknown): void;
  name: string;
  argumentsJson: string;
  /** Whether it died with a worker before. */
  again: boolean;
}

export interface StartOptions {
  onProgress?: (progress: Progress) => void;
  /** False: start from the plain files even where there is a snapshot. */
  snapshot?: boolean;
}

/** Starts the engine. Rejects with `EngineUnavailable`. */
export async function openEngine(site: Site, options: StartOptions = {}): Promise<Engine> {
  const engine = new WorkerEngine(site, options);
  await engine.start();
  return engine;
}

class WorkerEngine implements Engine {
  startedFrom: "snapshot" | "files" = "files";
  snapshotProblem: string | null = null;
  #worker: Worker | null = null;
  /** The worker that is ready. */
  #running: Worker | null = null;
  #vigil: Vigil | null = null;
  #starting: Promise<void> | null = null;
  #waiting = new Map<number, Waiting>();
  #nextId = 1;

  constructor(
    private readonly site: Site,
    private readonly options: StartOptions,
  ) {}

  start(): Promise<void> {
    this.#starting ??= new Promise((resolve, reject) => this.#launch(resolve, reject));
    return this.#starting;
  }

  async call<Name extends keyof EngineCalls>(name: Name, args: EngineCalls[Name][0]): Promise<EngineCalls[Name][1]> {
    const answer = JSON.parse(await this.#ask(name, JSON.stringify(args))) as Answer<EngineCalls[Name][1]>;
    if ("refused" in answer) {
      const { error, code, path } = answer.refused;
      throw new EngineRefused(error, code, path);
    }
    return answer.ok;
  }

  contract(): Promise<string> {
    return this.#ask("contract", "{}");
  }

  async #ask(name: string, argumentsJson: string): Promise<string> {
    await this.start();
    return new Promise((resolve, reject) => this.#send({ resolve, reject, name, argumentsJson, again: false }));
  }

  #send(waiting: Waiting): void {
    const id = this.#nextId++;
    this.#waiting.set(id, waiting);
    this.#vigil?.owes();
    this.#tell({ kind: "call", id, name: waiting.name, argumentsJson: waiting.argumentsJson });
  }

  #tell(message: ToWorker): void {
    this.#worker?.postMessage(message);
  }

  #launch(resolve: () => void, reject: (error: unknown) => void): void {
    const { site, options } = this;
    const worker = workerOf(addressOf(site, site.workers.engine));
    this.#worker = worker;
    const total = engineBytes(site, options.snapshot !== false);
    const name = vigilName();
    const fail = (reason: string, code?: StartFault) => {
      this.#drop(worker);
      reject(new EngineUnavailable(reason, code));
    };
    const vigil = new Vigil(name, () => this.#lost(worker, () => fail("worker")));
    this.#vigil = vigil;
    vigil.owes(STARTING_TICKS_MAX);
    worker.onerror = (event) => (event.preventDefault(), fail("worker"));
    worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
      if (data.kind === "failed") return fail(data.reason, data.code);
      if (data.kind === "progress") vigil.owes(STARTING_TICKS_MAX);
      if (data.kind === "progress") return options.onProgress?.({ part: "engine", loaded: Math.min(data.loaded, total), total });
      if (data.kind !== "ready") return;
      vigil.ready();
      this.#running = worker;
      this.startedFrom = data.startedFrom;
      this.snapshotProblem = data.snapshotProblem;
      options.onProgress?.({ part: "engine", loaded: total, total });
      worker.onmessage = (event: MessageEvent<FromWorker>) => this.#hear(event.data);
      worker.onerror = (event) => (event.preventDefault(), this.#restart());
      resolve();
    };
    const { snapshot } = site.engine;
    this.#tell({
      kind: "start",
      pyodide: addressOf(site, site.engine.pyodide),
      stdlib: addressOf(site, site.engine.stdlib),
      archive: listedFile(site, site.engine.archive),
      snapshot: snapshot === null || options.snapshot === false ? null : listedFile(site, snapshot),
      vigil: name,
    });
  }

  /** A worker that has ended without a word: while it ran another takes over, while it started it has failed. */
  #lost(worker: Worker, fail: () => void): void {
    if (this.#worker !== worker) return;
    if (this.#running === worker) this.#restart();
    else fail();
  }

  #hear(message: FromWorker): void {
    if (message.kind === "crashed") return this.#restart();
    if (message.kind !== "answer" && message.kind !== "fault") return;
    const waiting = this.#waiting.get(message.id);
    if (!waiting) return;
    this.#waiting.delete(message.id);
    if (this.#waiting.size === 0) this.#vigil?.rest();
    else this.#vigil?.owes();
    if (message.kind === "answer") waiting.resolve(message.json);
    else waiting.reject(new EngineFault(message.error, message.frames));
  }

  /** Another worker takes over what waits; a call that kills two workers is a fault of its pet's. */
  #restart(): void {
    const orphans = [...this.#waiting.values()];
    this.#waiting.clear();
    if (this.#worker) this.#drop(this.#worker);
    const [first, ...rest] = orphans; // the worker takes calls in order: the first one was running
    if (first?.again) first.reject(new EngineFault("InterpreterLost", []));
    const again = first && !first.again ? [{ ...first, again: true }, ...rest] : rest;
    this.start().then(
      () => again.forEach((waiting) => this.#send(waiting)),
      (error: unknown) => again.forEach((waiting) => waiting.reject(error)),
    );
  }

  #drop(worker: Worker): void {
    worker.terminate();
    if (this.#worker === worker) {
      this.#worker = null;
      this.#vigil?.end();
    }
    this.#starting = null;
  }
}

type Answer<Value> = { ok: Value } | { refused: { error: string; code: string; path: string } };

function engineBytes(site: Site, snapshot: boolean): number {
  const { pyodide, stdlib, archive } = site.engine;
  const files = [archive, stdlib, `${pyodide}pyodide.asm.wasm`, `${pyodide}pyodide-lock.json`];
  if (snapshot && site.engine.snapshot !== null) files.push(site.engine.snapshot);
  return bytesOf(site, ...files);
}
