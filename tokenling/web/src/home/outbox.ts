/* An owner's wishes until they have happened, each under an operation id of its own.

   A wish is on the disk before anything else, and until a definite answer is here: a reload does it once. Where this page
   runs the pet the executor applies it and takes it off the disk in one transaction. Where a host does, it is addressed
   when it is first sent and repeated byte for byte; after `REPEATS_MS` it rests as `stuck` with those behind it, so that
   order holds, until the owner asks for it again, still under the same id. The outbox of a pet that came home finds out
   what became of its last wishes; words that will not be heard any more go back to their owner. */

import type { Command, PendingCommand } from "../contract.ts";
import type { Ids } from "./ids.ts";
import type { Connection, Row, Stamp, Wish } from "./layout.ts";
import { HomeProblem } from "./problems.ts";
import type { Records } from "./records.ts";
import { Pause } from "./pause.ts";
import * as wire from "./wire.ts";
import {
  connectionFor,
  isAddressed,
  returnedOf,
  wishesOf,
  wishOf,
  withAddress,
  withoutWish,
  withReturned,
  withWish,
} from "./wishes.ts";

/** Pauses before each repeat. In all about half a minute: longer than a host's restart. */
const REPEATS_MS = [500, 1000, 2000, 4000, 8000, 15_000];
/** More clicks than this while nothing answers are a mistake, not a wish. */
export const WAITING_MAX = 16;
/** What may go away by itself while a pet lives here: its rules are loaded, a disk gets room again. */
const PASSING = new Set(["no_engine", "storage_full", "records_failed"]);

interface Item {
  wish: Wish;
  state: "waiting" | "repeating" | "stuck" | "done";
  /** Where its answer says that it stands: shown as pending until a view is that new. */
  at: Stamp | null;
  stored: boolean;
  /** Whether somebody waits for its answer. */
  awaited: boolean;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** The local executor: applies the wish and takes it off the disk, both or neither. */
export type Grant = (wish: Wish) => Promise<void>;

export interface OutboxParts {
  localId: string;
  records: Records;
  ids: Ids;
  /** The executor of this page, while it runs the pet. */
  here: () => Grant | null;
  /** Where a wish goes that was sent nowhere yet, while a host runs the pet and no move is under way. */
  there: () => Connection | null;
  onChange: (row: Row | null) => void;
  /** What was wished before a reload was refused, and it was no words: nobody waits for its answer. */
  onRefused: (problem: HomeProblem) => void;
}

export class Outbox {
  #parts: OutboxParts;
  #row: Row;
  #items: Item[];
  #running = new Set<"here" | "there">();
  #stopped = false;
  #seen: Stamp | null = null;
  #pauses = { here: new Pause(), there: new Pause() };

  constructor(row: Row, parts: OutboxParts) {
    this.#parts = parts;
    this.#row = row;
    this.#items = wishesOf(row).map((wish) => ({ ...newItem(wish), stored: true }));
  }

  /** Goes on with what can go on. */
  start(): void {
    // no view of a host will show what was answered: the pet is here, with all that had happened
    if (this.#parts.here() !== null) this.#items = this.#items.filter(({ state }) => state !== "done");
    void this.#run("here");
    void this.#run("there");
  }

  stop(): void {
    this.#stopped = true;
    this.#cut();
  }

  /** The row as it is stored now: it has the key and the host. What a move gave back to the owner is no wish any more. */
  know(row: Row): void {
    this.#row = row;
    const back = new Set(returnedOf(row).map(({ operationId }) => operationId));
    for (const item of this.#items.filter(({ wish }) => back.has(wish.operationId))) {
      this.#drop(item);
      item.reject(new HomeProblem("returned"));
    }
  }

  /** Resolves when it has happened, rejects with the refusal. A stuck one stays pending. `instead` is the id of words
      that are said again. */
  async send(command: Command, instead?: string): Promise<void> {
    if (this.unconfirmed >= WAITING_MAX) throw new HomeProblem("outbox_full");
    const here = this.#parts.here() !== null;
    const wish = wishOf(command, this.#parts.ids.uuid(), here ? null : this.#parts.there());
    const item: Item = { ...newItem(wish), awaited: true };
    const answered = new Promise<void>((resolve, reject) => Object.assign(item, { resolve, reject }));
    answered.catch(() => undefined); // given back while it is stored: told to who awaits it below
    if (instead !== undefined) this.#items = this.#items.filter((one) => one.wish.operationId !== instead);
    this.#items.push(item);
    this.#parts.onChange(null);
    await this.#store((row) => withWish(row, wish, instead)).catch((error: unknown) => {
      this.#drop(item);
      this.#parts.onChange(null);
      throw error;
    });
    item.stored = true;
    this.start();
    return answered;
  }

  /** Says words again that were given back. */
  async again(operationId: string): Promise<void> {
    const command = this.#returned(operationId);
    if (command === undefined) throw new HomeProblem("wish_gone");
    return this.send(command, operationId);
  }

  /** Words that were given back are let go. */
  async letGo(operationId: string): Promise<void> {
    if (this.#returned(operationId) === undefined) return;
    this.#items = this.#items.filter((one) => one.wish.operationId !== operationId);
    await this.#store((row) => withoutWish(row, operationId));
  }

  #returned(operationId: string): Command | undefined {
    const found = this.pending().find((one) => one.operationId === operationId && one.state === "returned");
    return found?.command;
  }

  /** Tries stuck wishes again, as they were. */
  retry(): void {
    for (const item of this.#items) if (item.state === "stuck") item.state = "waiting";
    this.#cut();
    this.start();
  }

  #cut(): void {
    this.#pauses.here.cut();
    this.#pauses.there.cut();
  }

  /** Forgets answered wishes that a view shows. */
  seen(view: Stamp): void {
    this.#seen = view;
    this.#items = this.#items.filter(({ state, at }) => state !== "done" || at === null || !isShown(at, view));
  }

  get unconfirmed(): number {
    return this.#items.filter(({ state }) => state !== "done").length;
  }

  pending(): PendingCommand[] {
    const home = this.#parts.here() !== null;
    const back: PendingCommand[] = returnedOf(this.#row).map(({ operationId, command }) => ({
      operationId,
      command: command as unknown as Command,
      state: "returned",
    }));
    const waiting = this.#items.map(({ wish, state }) => ({
      operationId: wish.operationId,
      command: wish.command as unknown as Command,
      state: shownState(state, home && isAddressed(wish)),
    }));
    return [...back, ...waiting];
  }

  /** Delivers, one after the other, what this side can deliver. */
  async #run(side: "here" | "there"): Promise<void> {
    if (this.#running.has(side)) return;
    this.#running.add(side);
    try {
      for (let item = this.#next(side); item && !this.#stopped; item = this.#next(side)) {
        const on = side === "here" ? await this.#grant(item) : await this.#deliver(item);
        // what does not answer would swallow the rest as well, and their order would be lost: all rest together
        if (item.state === "stuck")
          for (const one of this.#items) if (one.state === "waiting" && this.#side(one) === side) one.state = "stuck";
        this.#parts.onChange(null);
        if (!on) return;
      }
    } finally {
      this.#running.delete(side);
    }
  }

  #next(side: "here" | "there"): Item | undefined {
    return this.#items.find(
      (item) => item.stored && (item.state === "waiting" || item.state === "repeating") && this.#side(item) === side,
    );
  }

  /** Who takes the wish now: null while nobody does. */
  #side({ wish }: Item): "here" | "there" | null {
    if (isAddressed(wish)) return "there";
    if (this.#parts.here() !== null) return "here";
    return this.#parts.there() === null ? null : "there";
  }

  /** Whether the next one may follow at once. */
  async #grant(item: Item): Promise<boolean> {
    for (const pauseMs of [...REPEATS_MS, null]) {
      const grant = this.#parts.here();
      if (grant === null || this.#stopped) return false;
      try {
        await grant(item.wish);
        this.#drop(item);
        item.resolve();
        return true;
      } catch (error) {
        if (!(error instanceof HomeProblem)) throw error;
        if (error.code === "wish_gone") return this.#gone(item);
        if (error.code === "not_running") return false; // this execution has ended: the next one finds the wish
        if (!PASSING.has(error.code)) return this.#refuse(item, error).then(() => true);
      }
      if (pauseMs === null) break;
      await this.#rest(item, "here", pauseMs);
    }
    item.state = "stuck";
    return true;
  }

  #gone(item: Item): boolean {
    this.#drop(item);
    item.resolve();
    return true;
  }

  async #deliver(item: Item): Promise<boolean> {
    for (const pauseMs of [...REPEATS_MS, null]) {
      if (this.#side(item) !== "there" || !this.#items.includes(item)) return true;
      try {
        const at = await this.#addressed(item);
        if (at === null) return this.#refuse(item, new HomeProblem("not_hosted")).then(() => true);
        await this.#done(item, await wire.wish(at, item.wish));
        return true;
      } catch (error) {
        if (!(error instanceof HomeProblem)) throw error;
        if (error.code === "not_running") return false; // a move came before it was sent
        if (!error.lost) return this.#refuse(item, error).then(() => true);
      }
      // a pet that is at home again does not wait for a host that is silent
      if (this.#stopped || pauseMs === null || this.#parts.here() !== null) break;
      await this.#rest(item, "there", pauseMs);
      if (this.#stopped) return false;
    }
    item.state = "stuck";
    return true;
  }

  async #rest(item: Item, side: "here" | "there", pauseMs: number): Promise<void> {
    item.state = "repeating";
    this.#parts.onChange(null);
    await this.#pauses[side].wait(pauseMs);
  }

  /** Where the wish is sent: stored before it leaves, so that a repeat goes there, too. */
  async #addressed(item: Item): Promise<Connection | null> {
    if (isAddressed(item.wish)) return connectionFor(this.#row, item.wish);
    const at = this.#parts.there();
    if (at === null) throw new HomeProblem("not_running");
    await this.#store((row) => withAddress(row, item.wish.operationId, at));
    const { host, id, epoch } = at;
    item.wish = { ...item.wish, host, id, epoch };
    return connectionFor(this.#row, item.wish);
  }

  async #done(item: Item, at: Stamp): Promise<void> {
    Object.assign(item, { state: "done", at });
    await this.#forget(item);
    if (this.#seen !== null) this.seen(this.#seen); // an answer that was repeated comes behind the view that shows it
    item.resolve();
  }

  /** Who waits for the answer gets it. Words that nobody waits for go back to their owner, and wait for that. */
  async #refuse(item: Item, problem: HomeProblem): Promise<void> {
    this.#drop(item);
    if (item.awaited) await this.#forget(item);
    else await this.#store((row) => withReturned(row, item.wish.operationId)).catch(() => undefined);
    item.reject(problem);
    if (!item.awaited && item.wish.command.kind !== "say") this.#parts.onRefused(problem);
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

function newItem(wish: Wish): Item {
  const settles = { resolve: () => {}, reject: () => {} };
  return { wish, state: "waiting", at: null, stored: false, awaited: false, ...settles };
}

/** What was sent to a host that the pet has left and that does not answer: nobody knows whether it was heard. */
function shownState(state: Item["state"], left: boolean): PendingCommand["state"] {
  if (state === "stuck") return left ? "returned" : "stuck";
  return state === "repeating" ? "repeating" : "sending";
}

function isShown(at: Stamp, view: Stamp): boolean {
  return view.epoch > at.epoch || (view.epoch === at.epoch && view.revision >= at.revision);
}

