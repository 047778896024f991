/* Keeps one pet's snapshot fresh. A visible page holds one long-poll open; where that fails it asks once a second; a
   hidden page asks now and then and holds nothing, so that many open tabs cannot use up the browser's connections to
   the host. */

import { isOlder } from "./records.js";

const FOREGROUND_POLL_MS = 1000;
const HIDDEN_POLL_MS = 15_000;
/** After a failed long-poll, plain polls for this long before another try: a proxy on the way may not like them. */
const PLAIN_POLLS_MS = 60_000;
/** Pauses between tries while the host is silent; the last one repeats. */
const SILENT_PAUSES_MS = [1000, 1000, 2000, 4000, 8000, 15_000];

export class Sync {
  /** `onView(view)` gets each newer snapshot, `onHeard()` every answer, `onSilence(problem | null)` the loss and the
      return of the host, `onRefusal(problem)` the host's final word (404 and the like), after which the loop rests
      until `now()`. */
  constructor(host, handlers) {
    this.host = host;
    this.handlers = handlers;
    this.etag = null;
    this.newest = null;
    this.silentTries = 0;
    this.plainUntilMs = 0;
    this.stopped = false;
    this.wake = () => {};
    this.onVisibility = () => this.now();
  }

  start() {
    document.addEventListener("visibilitychange", this.onVisibility);
    // a request in flight may not notice that the network is gone: asking anew does
    for (const change of ["online", "offline"]) window.addEventListener(change, this.onVisibility);
    this.#loop();
  }

  stop() {
    this.stopped = true;
    document.removeEventListener("visibilitychange", this.onVisibility);
    for (const change of ["online", "offline"]) window.removeEventListener(change, this.onVisibility);
    this.#interrupt();
  }

  /** Asks at once, whatever the loop is waiting for. */
  now() {
    this.#interrupt();
  }

  #interrupt() {
    this.request?.abort();
    this.wake();
  }

  async #loop() {
    while (!this.stopped) {
      const pauseMs = await this.#ask();
      if (pauseMs > 0 && !this.stopped) await this.#pause(pauseMs);
    }
  }

  /** One request; returns the pause before the next. */
  async #ask() {
    const wait = !document.hidden && this.etag !== null && this.silentTries === 0 && Date.now() >= this.plainUntilMs;
    this.request = new AbortController();
    const { signal } = this.request;
    const askedMs = Date.now();
    try {
      const answer = await this.host.view({ etag: this.etag, wait, signal });
      this.#heard();
      const isNews = answer !== null && this.#take(answer);
      this.handlers.onHeard();
      const refused = wait && !isNews && Date.now() - askedMs < FOREGROUND_POLL_MS;
      return this.#pauseAfter(refused);
    } catch (problem) {
      if (signal.aborted) return 0;
      return this.#failed(problem, wait);
    }
  }

  /** The next long-poll begins at once; a host that lets none wait (it is stopping) or tells nothing new is asked
      once a second. */
  #pauseAfter(refused) {
    if (document.hidden) return HIDDEN_POLL_MS;
    return refused || Date.now() < this.plainUntilMs ? FOREGROUND_POLL_MS : 0;
  }

  /** Whether the snapshot is taken: an older one than the newest is ignored. */
  #take({ view, etag }) {
    this.etag = etag;
    const stamp = { epoch: view.epoch, revision: view.revision, atMs: view.serverTime };
    if (this.newest && isOlder(stamp, this.newest)) return false;
    this.newest = stamp;
    this.handlers.onView(view);
    return true;
  }

  #heard() {
    if (this.silentTries > 0) this.handlers.onSilence(null);
    this.silentTries = 0;
  }

  #failed(problem, wait) {
    if (!problem.lost) {
      this.handlers.onRefusal(problem);
      return HIDDEN_POLL_MS;
    }
    // the first failed long-poll may only be the way's fault: the plain poll that follows at once tells
    if (wait) {
      this.plainUntilMs = Date.now() + PLAIN_POLLS_MS;
      return 1;
    }
    const pauseMs = SILENT_PAUSES_MS[Math.min(this.silentTries, SILENT_PAUSES_MS.length - 1)];
    this.silentTries += 1;
    this.handlers.onSilence(problem);
    return document.hidden ? HIDDEN_POLL_MS : pauseMs;
  }

  #pause(ms) {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
