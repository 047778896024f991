/* How far engine and brain are, for whoever shows it. */

import type { Progress } from "../contract.ts";

export interface PartLoad {
  loaded: number;
  total: number;
  ready: boolean;
  /** A stable word, when it did not start; it is tried again when next needed. */
  failed: string | null;
}

export type Load = Record<Progress["part"], PartLoad>;

const NOTHING: PartLoad = { loaded: 0, total: 0, ready: false, failed: null };

export class Loading {
  #now: Load = { engine: NOTHING, brain: NOTHING };
  #listeners = new Set<(load: Load) => void>();

  get now(): Load {
    return this.#now;
  }

  /** What was said to be there stays there: a part that is asked for again after a stall counts on from where it was. */
  progress = ({ part, loaded, total }: Progress): void => {
    const before = this.#now[part];
    const went = before.failed === null && shareOf({ loaded, total }) < shareOf(before);
    this.#set(part, went ? {} : { loaded, total, failed: null });
  };

  ready(part: Progress["part"]): void {
    this.#set(part, { ready: true, failed: null });
  }

  failed(part: Progress["part"], code: string): void {
    this.#set(part, { ready: false, failed: code });
  }

  subscribe(listener: (load: Load) => void): () => void {
    this.#listeners.add(listener);
    listener(this.#now);
    return () => this.#listeners.delete(listener);
  }

  #set(part: Progress["part"], change: Partial<PartLoad>): void {
    this.#now = { ...this.#now, [part]: { ...this.#now[part], ...change } };
    for (const listener of this.#listeners) listener(this.#now);
  }
}

function shareOf({ loaded, total }: Pick<PartLoad, "loaded" | "total">): number {
  return total > 0 ? loaded / total : 0;
}

/** Whole percents of one part; 100 only when it is ready. */
export function percentOf({ loaded, total, ready }: PartLoad): number {
  if (ready) return 100;
  return total > 0 ? Math.min(99, Math.floor((loaded / total) * 100)) : 0;
}
