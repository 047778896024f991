/* Something that is loaded when it is first needed, once. After a failure the next asker tries again, but not before a
   pause: many pets may ask at once. */

/** A guess: long enough not to load a network down, short enough not to be waited for. */
const AGAIN_MS = 2000;

export class Once<T> {
  #load: () => Promise<T>;
  #loading: Promise<T> | null = null;

  constructor(load: () => Promise<T>) {
    this.#load = load;
  }

  get(): Promise<T> {
    if (this.#loading === null) {
      const loading = this.#load();
      this.#loading = loading;
      loading.catch(() => setTimeout(() => (this.#loading = null), AGAIN_MS));
    }
    return this.#loading;
  }
}
