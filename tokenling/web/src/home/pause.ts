/* A pause that can be cut short. */

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
