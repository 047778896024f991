/* Stops that wait for their hosts, each with its own host and key: tried at once, every 30 s, after a reload and when
   the network is back, until they are delivered or the owner has decided. */

import type { PendingStop } from "../contract.ts";
import type { Told } from "./conclusions.ts";
import { stopAnswered, stopResolved } from "./conclusions.ts";
import type { Ids } from "./ids.ts";
import type { Row, Stop } from "./layout.ts";
import { HomeProblem } from "./problems.ts";
import type { Records } from "./records.ts";
import * as wire from "./wire.ts";

export const RETRY_MS = 30_000;
/** Repeats with a told epoch, one after the other: a host that names a new one each time is asked again later. */
const AGAIN_MAX = 4;

export interface KeeperParts {
  records: Records;
  ids: Ids;
  now: () => number;
  onRow: (row: Row) => void;
  onChange: () => void;
}

export class StopKeeper {
  #parts: KeeperParts;
  #stops: Stop[] = [];
  #pets = new Set<string>();
  #asks = new Map<string, Told>();
  #timer: ReturnType<typeof setInterval> | undefined;
  #busy = false;
  #once = false;

  constructor(parts: KeeperParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#timer ??= setInterval(() => this.retry(), RETRY_MS);
    this.retry();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** The stops as they are stored, and the pets that there are. */
  know(stops: Stop[], pets: Iterable<string>): void {
    const before = this.#stops;
    this.#stops = stops;
    this.#pets = new Set(pets);
    for (const stopId of this.#asks.keys())
      if (!stops.some((stop) => stop.stopId === stopId)) this.#asks.delete(stopId);
    const fresh = stops.some((stop) => !before.some((old) => old.stopId === stop.stopId));
    if (fresh && this.#timer !== undefined) this.retry();
  }

  pending(): PendingStop[] {
    return this.#stops.map(({ stopId, localId, host, name, sinceMs }) => ({
      stopId,
      localId: this.#pets.has(localId) ? localId : null,
      host,
      name,
      sinceMs,
      asks: this.#asks.has(stopId),
    }));
  }

  /** The stop of a pet that asks its owner. */
  asking(localId: string): { stop: Stop; told: Told } | null {
    for (const stop of this.#stops) {
      const told = this.#asks.get(stop.stopId);
      if (stop.localId === localId && told !== undefined) return { stop, told };
    }
    return null;
  }

  /** Tries each stop once, now. */
  retry(): void {
    if (this.#timer === undefined) return;
    this.#once = true;
    if (!this.#busy) void this.#deliverAll();
  }

  async resolve(stopId: string, keep: "here" | "there"): Promise<void> {
    const stop = this.#stops.find((one) => one.stopId === stopId);
    const told = this.#asks.get(stopId);
    if (stop === undefined || told === undefined) throw new HomeProblem("no_such_stop");
    const means = { ids: this.#parts.ids, nowMs: this.#parts.now() };
    const decide = (row: Row) => ({ row: stopResolved(row, stop, keep, told, means), value: null });
    const { row } = await this.#parts.records.change(stop.localId, decide);
    this.#asks.delete(stopId);
    this.#parts.onRow(row);
    this.retry();
  }

  async #deliverAll(): Promise<void> {
    this.#busy = true;
    try {
      while (this.#once) {
        this.#once = false;
        await Promise.all(this.#stops.map((stop) => this.#deliver(stop.stopId)));
      }
    } finally {
      this.#busy = false;
    }
  }

  async #deliver(stopId: string): Promise<void> {
    for (let again = 0; again < AGAIN_MAX && this.#timer !== undefined; again += 1) {
      const stop = this.#stops.find((one) => one.stopId === stopId);
      if (stop === undefined || !(await this.#try(stop))) return;
    }
  }

  /** Whether the stop is to be sent again at once. */
  async #try(stop: Stop): Promise<boolean> {
    const { records, ids, now, onRow, onChange } = this.#parts;
    try {
      const { deviceId } = await records.row(stop.localId);
      const answer = await wire.stop(stop, deviceId);
      const means = { ids, nowMs: now() };
      const { row, value } = await records.change(stop.localId, (before) => {
        const { row: after, then } = stopAnswered(before, stop, answer, means);
        return { row: after, value: then };
      });
      if (value.kind === "asks") this.#asks.set(stop.stopId, value.told);
      else this.#asks.delete(stop.stopId);
      this.#stops = row.stops;
      onRow(row);
      onChange();
      return value.kind === "again";
    } catch (error) {
      if (!(error instanceof HomeProblem)) throw error;
      return false; // nobody knows, or nothing could be stored: the next try is in 30 s
    }
  }
}
