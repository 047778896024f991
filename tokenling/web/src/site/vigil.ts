/* Whether a worker is still there. A worker that dies says nothing: `error` is told for a script's fault alone, not when
   the browser ends it, it closes itself, or what it was running is cut off. Two things tell:

   - a Web Lock that the worker holds as long as it lives (the browser gives it back, however the worker ends);
   - silence, in ticks of a timer: a page that was frozen counts none, so it kills no worker for that. */

const TICK_MS = 5000;
/** A call of the engine or a token of the brain is answered in seconds, on a slow phone in tens. A guess, twice over. */
const SILENT_TICKS_MAX = 24;
/** While it starts, a network may take that long over one file. A guess. */
export const STARTING_TICKS_MAX = 120;

/** An insecure page has none. */
function locksHere(): LockManager | undefined {
  return (globalThis.navigator as { locks?: LockManager } | undefined)?.locks;
}

/** In the worker, before it says that it is ready: from now on the lock `name` is held until the worker ends. Rejects
    where the browser refuses it. */
export async function holdVigil(name: string | null): Promise<void> {
  const locks = locksHere();
  if (locks === undefined || name === null) return;
  await new Promise<void>((held, refused) => {
    const holding = locks.request(name, () => {
      held();
      return new Promise<never>(() => undefined);
    });
    holding.catch(refused);
  });
}

/** A name that no other worker of this browser has; null where there are no locks. */
export function vigilName(): string | null {
  if (locksHere() === undefined) return null;
  const random = crypto.getRandomValues(new Uint32Array(4));
  return `tokenling.worker.${[...random].map((word) => word.toString(36)).join("")}`;
}

export class Vigil {
  #ending = new AbortController();
  #silent = 0;
  #timer: ReturnType<typeof setInterval> | undefined;

  /** `gone` is called once: the worker has ended, or it owed an answer for too long. */
  constructor(
    private readonly name: string | null,
    private readonly gone: () => void,
  ) {}

  /** The worker is ready and holds its lock. */
  ready(): void {
    this.rest();
    const { signal } = this.#ending;
    if (this.name === null) return;
    locksHere()?.request(this.name, { signal }, () => this.#tell()).catch(() => undefined); // no longer asked
  }

  /** The worker owes an answer from now on, or has just shown that it works on one. */
  owes(ticksMax = SILENT_TICKS_MAX): void {
    this.#silent = 0;
    this.#timer ??= setInterval(() => (this.#silent += 1) >= ticksMax && this.#tell(), TICK_MS);
  }

  /** Nothing is owed. */
  rest(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  end(): void {
    this.rest();
    this.#ending.abort();
  }

  #tell(): void {
    if (this.#ending.signal.aborted) return;
    this.end();
    this.gone();
  }
}
