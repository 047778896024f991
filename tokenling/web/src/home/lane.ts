/* The one brain of this tab and the turns that wait for it: what an owner did goes first, then first come, first
   served; background work that has waited half a minute moves ahead of both, as on a host. One turn at a time. */

import type { TurnKind } from "../contract.ts";

/** How long background work waits before it moves ahead of new reactive work (the host's figure). */
export const PROMOTE_AFTER_MS = 30_000;

interface Waiting {
  kind: TurnKind;
  sinceMs: number;
  go: () => void;
}

/** Which of the waiting goes next; they stand in order of arrival. A scan: at most one a pet waits. */
export function nextOf(waiting: readonly Pick<Waiting, "kind" | "sinceMs">[], nowMs: number): number {
  const rank = ({ kind, sinceMs }: Pick<Waiting, "kind" | "sinceMs">) =>
    kind === "reactive" ? 1 : nowMs - sinceMs >= PROMOTE_AFTER_MS ? 0 : 2;
  let best = 0;
  for (let at = 1; at < waiting.length; at += 1) if (rank(waiting[at]!) < rank(waiting[best]!)) best = at;
  return best;
}

export class Lane {
  #waiting: Waiting[] = [];
  #busy = false;

  constructor(private readonly now: () => number) {}

  /** Runs `work` once the lane is free. Rejects with an `AbortError` when `signal` is aborted before that. */
  async run<T>(kind: TurnKind, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.#turn(kind, signal);
    try {
      return await work();
    } finally {
      this.#busy = false;
      this.#next();
    }
  }

  #turn(kind: TurnKind, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const aborted = () => {
        this.#waiting = this.#waiting.filter((one) => one !== entry);
        reject(new DOMException("no longer wanted", "AbortError"));
      };
      const go = () => {
        signal.removeEventListener("abort", aborted);
        resolve();
      };
      const entry: Waiting = { kind, sinceMs: this.now(), go };
      if (signal.aborted) return aborted();
      signal.addEventListener("abort", aborted, { once: true });
      this.#waiting.push(entry);
      this.#next();
    });
  }

  #next(): void {
    if (this.#busy || this.#waiting.length === 0) return;
    const [next] = this.#waiting.splice(nextOf(this.#waiting, this.now()), 1);
    this.#busy = true;
    next!.go();
  }
}
