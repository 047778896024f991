/* Owner commands on their way to the host, one after the other, each under an operation id of its own.

   A command whose answer was lost is repeated byte for byte, operation id included, so it happens once. After
   `REPEATS_MS` it rests as `stuck` until the owner asks for it again: still under the same id. */

import { newUuid } from "./api.js";

/** Pauses before each repeat. In all about half a minute: longer than a host's restart. */
const REPEATS_MS = [500, 1000, 2000, 4000, 8000, 15_000];
/** More clicks than this while the host is silent are a mistake, not a wish. */
const WAITING_MAX = 16;

export class OutboxFull extends Error {}

export class Outbox {
  constructor(host) {
    this.host = host;
    this.items = [];
    this.running = false;
    this.shown = { epoch: 0, revision: 0 };
    this.onChange = () => {};
  }

  /** `onChange()` is called whenever `items` or a state in it changed. The outbox outlives the screen that fills it. */
  watch(onChange) {
    this.onChange = onChange;
  }

  /** Resolves with the host's answer, rejects with its refusal. A stuck command stays pending until retried. */
  send(command, epoch) {
    if (this.items.filter((item) => item.state !== "done").length >= WAITING_MAX) throw new OutboxFull();
    const body = { epoch, operationId: newUuid(), command };
    const item = { body, state: "waiting", revision: null, epoch: null };
    item.promise = new Promise((resolve, reject) => Object.assign(item, { resolve, reject }));
    this.items.push(item);
    this.#changed();
    this.#run();
    return item.promise;
  }

  /** Sends stuck commands again, as they were. */
  retry() {
    for (const item of this.items) if (item.state === "stuck") item.state = "waiting";
    this.#changed();
    this.#run();
  }

  /** Forgets answered commands that `view` already shows. */
  seen({ epoch, revision }) {
    this.shown = { epoch, revision };
    const isShown = (item) => epoch > item.epoch || (epoch === item.epoch && revision >= item.revision);
    this.items = this.items.filter((item) => item.state !== "done" || !isShown(item));
  }

  /** Whether something the owner did is not known to have happened. */
  get unconfirmed() {
    return this.items.some((item) => item.state !== "done");
  }

  async #run() {
    if (this.running) return;
    this.running = true;
    for (;;) {
      const item = this.items.find((one) => one.state === "waiting");
      if (!item) break;
      await this.#deliver(item);
      // a silent host would swallow the rest as well, and their order would be lost: all rest together
      if (item.state === "stuck") for (const one of this.items) if (one.state === "waiting") one.state = "stuck";
      this.#changed();
    }
    this.running = false;
  }

  async #deliver(item) {
    for (const pauseMs of [...REPEATS_MS, null]) {
      try {
        const answer = await this.host.command(item.body);
        Object.assign(item, { state: "done", revision: answer.revision, epoch: answer.epoch });
        // a repeated command's answer may come after the view that shows it
        this.seen(this.shown);
        return item.resolve(answer);
      } catch (problem) {
        if (!problem.lost) return this.#refused(item, problem);
        if (pauseMs === null) break;
        item.repeated = true;
        this.#changed();
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    }
    item.state = "stuck";
  }

  #refused(item, problem) {
    this.items = this.items.filter((one) => one !== item);
    item.reject(problem);
  }

  #changed() {
    this.onChange();
  }
}
