/* What is on the disk: the records of docs/page_home.md, and pure functions from one row to the next.

   A *row* is everything that one transaction reads, decides on and writes for one pet. Whatever a field is not known
   here is kept as it is. A version that is not known is refused (`RecordsTooNew`) before anything is written. */

import type { JsonObject } from "../contract.ts";
import { RecordsBroken, RecordsTooNew, StaleExecution } from "./problems.ts";

/** The newest save and two older ones. */
export const CHECKPOINTS_MAX = 3;
/** A newer save takes the newest's place until the one behind it is this old; so the three reach back hours. A guess.
 */
export const CHECKPOINT_STEP_MS = 60 * 60_000;
/** Hosts that a pet was parked at, and keys that no longer fit, kept per pet: more moves than that keep the newest. */
export const PAST_MAX = 8;

export interface Checkpoint {
  atMs: number;
  epoch: number;
  revision: number;
  save: JsonObject;
}

/** `subtokenling.v1` by local id. `addedMs` orders the pets, `exportedMs` is when a file was last taken. */
export interface KeptPet {
  v: 1;
  checkpoints: Checkpoint[];
  addedMs?: number;
  exportedMs?: number;
}

export interface Connection {
  host: string;
  id: string;
  key: string;
  epoch: number;
}

export type Mode = "local" | "remote";
export type IntentStep = "prepare" | "activate" | "resume" | "park" | "delete" | "key";

/** The move under way. On the disk before its request leaves; repeated under its operation id until a definite answer.
 */
export interface Intent {
  to: "remote" | "local" | "key" | null;
  step: IntentStep;
  operationId: string;
  epoch: number;
  takeover?: true;
  newKey?: string;
}

/** One pet of `subtokenling.remote.v1`. What stands behind `checkpointRevision` is the app's own: the plain page wrote
    none of it. `mode` says who may run the pet once no intent stands; `living`: it was seen living on its host. */
export interface Entry extends Connection {
  intent: Intent | null;
  checkpointRevision: number;
  mode?: Mode;
  living?: boolean;
  /** Other hosts at which it is parked for this device. */
  past?: Connection[];
  /** Connections whose host answered that it knows no such pet: never used again, never thrown away. */
  former?: Connection[];
  /** It came home from there, and the turn receipts of what it said there have not been fetched yet. */
  turnsDue?: Connection;
}

export interface RemoteRecord {
  v: 1;
  deviceId: string;
  pets: Record<string, Entry>;
}

/** A park (or a deletion) that must reach a host some day. */
export interface Stop extends Connection {
  stopId: string;
  localId: string;
  kind: "park" | "delete";
  operationId: string;
  name: string;
  sinceMs: number;
  /** Tried when `key` does not fit: a key change was under way. */
  otherKey?: string;
}

/** `subtokenling.remote-stops.v1`. */
export interface StopsRecord {
  v: 1;
  stops: Stop[];
}

/** What an owner wants done (`wishes.ts`). `host`, `id`, `epoch`: where it was sent; empty and 0 before that. */
export interface Wish {
  host: string;
  id: string;
  epoch: number;
  operationId: string;
  command: JsonObject;
}

/** Words that will not be heard by themselves any more. */
export interface Returned {
  operationId: string;
  command: JsonObject;
}

/** `subtokenling.outbox.v1` by local id. */
export interface OutboxRecord {
  v: 1;
  wishes: Wish[];
  returned?: Returned[];
}

/** What a transaction sees of one pet. `kept` null: this browser has no copy; both null: it has no such pet. */
export interface Row {
  localId: string;
  deviceId: string;
  kept: KeptPet | null;
  entry: Entry | null;
  /** All stops of this browser, not of this pet alone. */
  stops: Stop[];
  outbox: OutboxRecord | null;
}

// --- versions ------------------------------------------------------------------------------------------------------

/** A record as it was read: undefined stays, another version than 1 is refused. */
export function understood<T extends { v: 1 }>(record: string, found: unknown): T | undefined {
  if (found === undefined) return undefined;
  if (typeof found !== "object" || found === null) throw new RecordsBroken(record, "");
  const version = (found as { v?: unknown }).v;
  if (version !== 1) throw new RecordsTooNew(record, version);
  return found as T;
}

// --- reading -------------------------------------------------------------------------------------------------------

/** Who may run the pet once no intent stands. The plain page wrote no mode: its pets lived on their host, unless they
    were still moving in. */
export function modeOf(row: Row): Mode {
  const { entry } = row;
  if (entry === null) return "local";
  if (entry.mode !== undefined) return entry.mode;
  const step = entry.intent?.step;
  return step === "prepare" || step === "activate" ? "local" : "remote";
}

/** Whether this browser's executor may change the pet: never while a transfer may already have happened. */
export function mayRun(row: Row): boolean {
  const step = row.entry?.intent?.step;
  return row.kept !== null && modeOf(row) === "local" && (step === undefined || step === "prepare");
}

export function newestOf(row: Row): Checkpoint | null {
  return row.kept?.checkpoints[0] ?? null;
}

/** Rule 5 of docs/reliability.md: recovery and cards are for pets that were seen living on a host. */
export function wasLiving(row: Row): boolean {
  const { entry } = row;
  if (entry === null) return false;
  return entry.living ?? modeOf(row) === "remote";
}

export function connectionOf({ host, id, key, epoch }: Connection): Connection {
  return { host, id, key, epoch };
}

export function isAt(one: Connection, other: Connection): boolean {
  return one.host === other.host && one.id === other.id;
}

export interface Stamp {
  epoch: number;
  revision: number;
}

export function isOlder(a: Stamp, b: Stamp): boolean {
  return a.epoch !== b.epoch ? a.epoch < b.epoch : a.revision < b.revision;
}

export function nameOf(row: Row): string {
  const name = newestOf(row)?.save.name;
  return typeof name === "string" ? name : "";
}

// --- writing -------------------------------------------------------------------------------------------------------

/** The row with a fresh newest save; older ones move on once an hour, or at once when `apart`: what is replaced is then
    another life than the fresh one, and must stay to be had. */
export function withNewest(row: Row, fresh: Checkpoint, { apart = false } = {}): Row {
  const [newest, ...older] = row.kept?.checkpoints ?? [];
  const step = apart || older[0] === undefined || fresh.atMs - older[0].atMs >= CHECKPOINT_STEP_MS;
  const behind = newest !== undefined && step ? [newest, ...older] : older;
  const kept: KeptPet = { ...row.kept, v: 1, checkpoints: [fresh, ...behind].slice(0, CHECKPOINTS_MAX) };
  const entry = row.entry === null ? null : { ...row.entry, checkpointRevision: fresh.revision };
  return { ...row, kept, entry };
}

/** The row with changed fields of its entry. */
export function withEntry(row: Row, change: Partial<Entry>): Row {
  if (row.entry === null) throw new RecordsBroken("subtokenling.remote.v1", `/pets/${row.localId}`);
  return { ...row, entry: { ...row.entry, mode: modeOf(row), ...change } };
}

/** The local executor's commit: a new state on top of the one that it read, or `StaleExecution`. */
export function committed(row: Row, { read, save, nowMs }: { read: number; save: JsonObject; nowMs: number }): Row {
  const newest = newestOf(row);
  if (newest === null) throw new StaleExecution("not_here");
  if (!mayRun(row)) throw new StaleExecution("moved");
  if (newest.revision !== read) throw new StaleExecution("revision");
  return withNewest(row, { atMs: nowMs, epoch: row.entry?.epoch ?? 0, revision: read + 1, save });
}

/** A host's snapshot taken as the newest copy of a remote pet. */
export function checkpointed(row: Row, view: Checkpoint, options: { apart?: boolean } = {}): Row {
  const living = { epoch: view.epoch, living: true, mode: "remote" as const };
  return withNewest(withEntry(row, living), view, options);
}
