/* An owner's wishes on their way to a host, one after the other, each under an operation id of its own.

   A wish is on the disk before it is sent, and until a definite answer is here: a reload repeats it byte for byte, so
   it happens once. After `REPEATS_MS` it rests as `stuck` with those behind it, so that order holds, until the owner
   asks for it again, still under the same id. The outbox of a pet that came home finds out what became of its last
   wishes. */

import type { Command, JsonObject, PendingCommand } from "../contract.ts";
import type { Ids } from "./ids.ts";
import type { Connection, Row, Stamp, Wish } from "./layout.ts";
import { HomeProblem } from "./problems.ts";
import type { Records } from "./records.ts";
import { Pause } from "./pause.ts";
import * as wire from "./wire.ts";

/** Pauses before each repeat. In all about half a minute: longer than a host's restart. */
const REPEATS_MS = [500, 1000, 2000, 4000, 8000, 15_000];
/** More clicks than this while the host is silent are a mistake, not a wish. */
export const WAITING_MAX = 16;

interface Item {
  wish: Wish;
  state: "waiting" | "repeating" | "stuck" | "done";
  /** Where its answer says that it stands: shown as pending until a view is that new. */
  at: Stamp | null;
  resolve: () => void;
  reject: (error: unknown) => void;
}

export interface OutboxParts {
  localId: string;
  records: Records;
  ids: Ids;
  onChange: (row: Row | null) => void;
  /** A wish from before a reload was refused: nobody waits for its answer. */
  onRefused: (problem: HomeProblem) => void;
}

export class Outbox {
  #parts: OutboxParts;
  #row: Row;
  #items: Item[];
  #running = false;
  #stopped = false;
  #pause = new Pause();

  constructor(row: Row, parts: OutboxParts) {
    this.#parts = parts;
    this.#row = row;
    this.#items = (row.outbox?.wishes ?? []).map((wish) => ({ ...forgotten(parts), wish, state: "waiting", at: null }));
  }

  /** Goes on with what was left. */
  start(): void {
    void this.#run();
  }

  stop(): void {
    this.#stopped = true;
    this.#pause.cut();
  }

  /** The row as it is stored now: it has the key and the host. */
  know(row: Row): void {
    this.#row = row;
  }

  /** Resolves when the host has said that it happened, rejects with its refusal. A stuck one stays pending. */
  async send(command: Command, at: Connection): Promise<void> {
    if (this.unconfirmed >= WAITING_MAX) throw new HomeProblem("outbox_full");
    const { host, id, epoch } = at;
    const wish: Wish = {
      host,
      id,
      epoch,
      operationId: this.#parts.ids.uuid(),
      command: command as unknown as JsonObject,
    };
    const item: Item = { wish, state: "waiting", at: null, resolve: () => {}, reject: () => {} };
    const answered = new Promise<void>((resolve, reject) => Object.assign(item, { resolve, reject }));
    this.#items.push(item);
    await this.#store((row) => withWish(row, wish)).catch((error: unknown) => {
      this.#drop(item);
      throw error;
    });
    void this.#run();
    return answered;
  }

  /** Sends stuck wishes again, as they were. */
  retry(): void {
    for (const item of this.#items) if (item.state === "stuck") item.state = "waiting";
    this.#pause.cut();
    void this.#run();
  }

  /** Forgets answered wishes that a view shows. */
  seen(view: Stamp): void {
    this.#items = this.#items.filter(({ state, at }) => state !== "done" || at === null || !isShown(at, view));
  }

  get unconfirmed(): number {
    return this.#items.filter(({ state }) => state !== "done").length;
  }

  pending(): PendingCommand[] {
    const stateOf = (state: Item["state"]) => (state === "repeating" || state === "stuck" ? state : "sending");
    return this.#items.map(({ wish, state }) => ({
      operationId: wish.operationId,
      command: wish.command as unknown as Command,
      state: stateOf(state),
    }));
  }

  async #run(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    try {
      for (let item = this.#next(); item && !this.#stopped; item = this.#next()) {
        await this.#deliver(item);
        // a silent host would swallow the rest as well, and their order would be lost: all rest together
        if (item.state === "stuck") for (const one of this.#items) if (one.state === "waiting") one.state = "stuck";
        this.#parts.onChange(null);
      }
    } finally {
      this.#running = false;
    }
  }

  #next(): Item | undefined {
    return this.#items.find(({ state }) => state === "waiting" || state === "repeating");
  }

  async #deliver(item: Item): Promise<void> {
    for (const pauseMs of [...REPEATS_MS, null]) {
      const at = connectionFor(this.#row, item.wish);
      if (at === null) return this.#refuse(item, new HomeProblem("not_hosted"));
      try {
        const answer = await wire.wish(at, item.wish);
        return await this.#done(item, answer);
      } catch (error) {
        if (!(error instanceof HomeProblem)) throw error;
        if (!error.lost) return this.#refuse(item, error);
      }
      if (this.#stopped || pauseMs === null) break;
      item.state = "repeating";
      this.#parts.onChange(null);
      await this.#pause.wait(pauseMs);
      if (this.#stopped) return;
    }
    item.state = "stuck";
  }

  async #done(item: Item, at: Stamp): Promise<void> {
    Object.assign(item, { state: "done", at });
    await this.#forget(item);
    item.resolve();
  }

  async #refuse(item: Item, problem: HomeProblem): Promise<void> {
    this.#drop(item);
    await this.#forget(item);
    item.reject(problem);
  }

  #drop(item: Item): void {
    this.#items = this.#items.filter((one) => one !== item);
  }

  /** A wish that could not be taken off the disk is repeated after a reload, under the same id: it harms nothing. */
  async #forget({ wish }: Item): Promise<void> {
    await this.#store((row) => withoutWish(row, wish.operationId)).catch(() => undefined);
  }

  async #store(change: (row: Row) => Row): Promise<void> {
    const { records, localId, onChange } = this.#parts;
    const { row } = await records.change(localId, (before) => ({ row: change(before), value: null }));
    this.#row = row;
    onChange(row);
  }
}

function forgotten(parts: OutboxParts): Pick<Item, "resolve" | "reject"> {
  const reject = (problem: unknown) => {
    if (problem instanceof HomeProblem) parts.onRefused(problem);
  };
  return { resolve: () => {}, reject };
}

function isShown(at: Stamp, view: Stamp): boolean {
  return view.epoch > at.epoch || (view.epoch === at.epoch && view.revision >= at.revision);
}

function withWish(row: Row, wish: Wish): Row {
  if (row.entry === null || row.entry.host !== wish.host || row.entry.id !== wish.id)
    throw new HomeProblem("not_hosted");
  return { ...row, outbox: { ...row.outbox, v: 1, wishes: [...(row.outbox?.wishes ?? []), wish] } };
}

function withoutWish(row: Row, operationId: string): Row {
  if (row.outbox === null) return row;
  const wishes = row.outbox.wishes.filter((one) => one.operationId !== operationId);
  return { ...row, outbox: wishes.length > 0 ? { ...row.outbox, wishes } : null };
}

/** Where a stored wish goes: the pet's host, or one at which it was before. */
function connectionFor({ entry }: Row, wish: Wish): Connection | null {
  if (entry === null) return null;
  return [entry, ...(entry.past ?? [])].find(({ host, id }) => host === wish.host && id === wish.id) ?? null;
}
