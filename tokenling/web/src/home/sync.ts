/* Keeps one pet's snapshot fresh. While somebody looks, one long-poll is held open; where that fails the host is asked
   once a second. A hidden page, and a pet that nobody looks at, asks now and then and holds nothing: browsers allow six
   connections to a host, and many pets and tabs must not use them up. */

import type { PetView } from "../contract.ts";
import type { Connection } from "./layout.ts";
import { Pause, Rest, pauseMs } from "./pause.ts";
import { HomeProblem, HostSilent } from "./problems.ts";
import * as wire from "./wire.ts";

const FOREGROUND_POLL_MS = 1000;
export const HIDDEN_POLL_MS = 15_000;
/** A long-poll that is answered at once is asked again no sooner than this: whatever answers without waiting, or says
    news without end, is not asked as fast as it can answer. A guess: less than an owner sees. */
const APART_MS_MIN = 100;
/** A pet that is not on the screen: its copy is kept from getting old. A guess. */
const UNWATCHED_POLL_MS = 60_000;
/** After a failed long-poll, plain polls for this long before another try: a proxy on the way may not like them. */
const PLAIN_POLLS_MS = 60_000;
/** Pauses between tries while the host is silent; the last one repeats. */
const SILENT_PAUSES_MS = [1000, 1000, 2000, 4000, 8000, 15_000];

export interface SyncHandlers {
  connection: () => Connection | null;
  watched: () => boolean;
  hidden: () => boolean;
  now: () => number;
  /** A snapshot; `askedAt` is what `mark()` was when it was asked for. */
  onView: (view: PetView, askedAt: number) => void;
  mark: () => number;
  /** Every answer of the host, also that nothing has changed. */
  onHeard: () => void;
  onSilence: (problem: HomeProblem) => void;
  /** The host's final word (404 and the like); the loop goes on slowly. */
  onRefusal: (problem: HomeProblem) => void;
}

export class Sync {
  #handlers: SyncHandlers;
  #etag: string | null = null;
  #silentTries = 0;
  #plainPolls = new Rest();
  #stopped = false;
  #request: AbortController | null = null;
  #pause = new Pause();
  #interrupted = false;

  constructor(handlers: SyncHandlers) {
    this.#handlers = handlers;
  }

  start(): void {
    void this.#loop();
  }

  stop(): void {
    this.#stopped = true;
    this.now();
  }

  /** Asks at once, whatever the loop is waiting for. */
  now(): void {
    this.#interrupted = true;
    this.#request?.abort();
    this.#pause.cut();
  }

  /** The next answer is taken as news, whatever was heard before. */
  forget(): void {
    this.#etag = null;
  }

  async #loop(): Promise<void> {
    while (!this.#stopped) {
      this.#interrupted = false;
      const waitMs = await this.#ask();
      if (waitMs > 0 && !this.#stopped && !this.#interrupted) await this.#pause.wait(waitMs);
    }
  }

  /** One request; returns the pause before the next. */
  async #ask(): Promise<number> {
    const { connection, now, mark } = this.#handlers;
    const at = connection();
    if (at === null) return UNWATCHED_POLL_MS;
    const wait = this.#mayWait();
    this.#request = new AbortController();
    const { signal } = this.#request;
    const [askedMs, askedAt] = [now(), mark()];
    try {
      const answer = await wire.view(at, { etag: this.#etag, wait, signal });
      if (this.#stopped) return 0;
      this.#silentTries = 0;
      if (answer !== null) this.#take(answer, askedAt);
      this.#handlers.onHeard();
      const tookMs = now() - askedMs;
      return this.#pauseAfter(wait && answer === null && tookMs < FOREGROUND_POLL_MS, tookMs);
    } catch (error) {
      if (signal.aborted || this.#stopped) return 0;
      return this.#failed(asProblem(error), wait);
    }
  }

  #take({ view, etag }: { view: PetView; etag: string | null }, askedAt: number): void {
    this.#etag = etag;
    this.#handlers.onView(view, askedAt);
  }

  #mayWait(): boolean {
    const { watched, hidden, now } = this.#handlers;
    return watched() && !hidden() && this.#etag !== null && this.#silentTries === 0 && this.#plainPolls.leftMs(now()) === 0;
  }

  /** The next long-poll begins at once; a host that lets none wait (it is stopping, or something on the way took the tag
      off its answer) is asked once a second. */
  #pauseAfter(cutShort: boolean, tookMs: number): number {
    const { watched, hidden } = this.#handlers;
    if (!watched()) return UNWATCHED_POLL_MS;
    if (hidden()) return HIDDEN_POLL_MS;
    if (cutShort || !this.#mayWait()) return FOREGROUND_POLL_MS;
    return Math.max(0, APART_MS_MIN - Math.max(0, tookMs));
  }

  #failed(problem: HomeProblem, wait: boolean): number {
    const { watched, hidden, now, onRefusal, onSilence } = this.#handlers;
    if (!problem.lost) {
      onRefusal(problem);
      return watched() && !hidden() ? HIDDEN_POLL_MS : UNWATCHED_POLL_MS;
    }
    // the first failed long-poll may only be the way's fault: the plain poll that follows at once tells
    if (wait) {
      this.#plainPolls.begin(now(), PLAIN_POLLS_MS);
      return 1;
    }
    const waitMs = Math.max(pauseMs(SILENT_PAUSES_MS, this.#silentTries), retryAfterOf(problem));
    this.#silentTries += 1;
    onSilence(problem);
    return hidden() || !watched() ? Math.max(HIDDEN_POLL_MS, waitMs) : waitMs;
  }
}

/** A fault of the page's own must not end the loop: it is told like silence, under its name. */
function asProblem(error: unknown): HomeProblem {
  return error instanceof HomeProblem ? error : new HostSilent(error instanceof Error ? error.name : "fault");
}

function retryAfterOf(problem: HomeProblem): number {
  return problem instanceof HostSilent ? (problem.retryAfterMs ?? 0) : 0;
}
