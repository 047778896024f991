/* A pause that can be cut short, and one that is asked how much of it is left. */

export class Pause {
  #end: () => void = () => {};

  /** Resolves after `ms`, or when `cut` is called. */
  wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#end = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  cut(): void {
    this.#end();
  }
}

/** The pause before the next try; the last one of the list repeats. */
export function pauseMs(pauses: readonly number[], tries: number): number {
  return pauses[Math.min(tries, pauses.length - 1)]!;
}

/** A time to let pass by a clock that may be set while it passes. A clock that stands before the beginning was set back:
    it says nothing of the rest, and nobody waits for days until it has come as far again. */
export class Rest {
  #fromMs = 0;
  #toMs = 0;

  begin(nowMs: number, ms: number): void {
    [this.#fromMs, this.#toMs] = [nowMs, nowMs + ms];
  }

  end(): void {
    this.#toMs = this.#fromMs;
  }

  leftMs(nowMs: number): number {
    return nowMs < this.#fromMs ? 0 : Math.max(0, this.#toMs - nowMs);
  }
}
