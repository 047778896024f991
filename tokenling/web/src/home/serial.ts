/* One piece of work at a time, in order of arrival. */

export class Serial {
  #last: Promise<unknown> = Promise.resolve();

  /** Runs `work` when everything before it has ended, however it ended. */
  run<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work, work);
    this.#last = result.catch(() => undefined);
    return result;
  }

  /** Resolves when all that was given has ended. */
  async idle(): Promise<void> {
    await this.#last;
  }
}
