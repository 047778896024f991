/* IndexedDB `subtokenling`: the only module that reads or writes it. docs/page_home.md describes the layout.

   Version 1 is the plain page's; version 2 adds two object stores and changes nothing that was there; version 3 lets the
   outbox hold what no host has been sent: an app that does not know that must let go of the database. Every change
   reads, decides and writes inside one strict transaction, so two tabs cannot undo each other's work, a page killed at
   any point leaves the row before or the row after, and an answered write is on the disk. */

import type { Choice, OwnerReceipt, PageNotes, TurnKind } from "../contract.ts";
import type { Ids } from "./ids.ts";
import type { Entry, KeptPet, OutboxRecord, RemoteRecord, Row, StopsRecord } from "./layout.ts";
import { understood } from "./layout.ts";
import { HomeProblem, RecordsBroken, RecordsTooNew } from "./problems.ts";

export const DATABASE = "subtokenling";
export const DATABASE_VERSION = 3;
const RECORDS = "records";
const KEPT = "subtokenling.v1";
const OUTBOX = "subtokenling.outbox.v1";
const TURNS = "subtokenling.turns.v1";
const REMOTE = "subtokenling.remote.v1";
const STOPS = "subtokenling.remote-stops.v1";
const NOTES = "subtokenling.page.v1";
const BY_PET = "pet";

/** Turn receipts kept per pet: as many as a host keeps. */
export const TURNS_MAX = 50;
/** A tab of the plain page lets go of the database at once; one that hangs is told of instead of waited for. A guess.
 */
const BLOCKED_MS_MAX = 10_000;

/** A turn that was lived in this page, or at a host from which the pet came home: for the mind view. */
export interface KeptTurn {
  localId: string;
  turnId: string;
  kind: TurnKind;
  atMs: number;
  receipt: OwnerReceipt;
  /** Null for a turn that a host lived, until it is run again. */
  choices: Choice[] | null;
}

/** What a decision gives back: the row to be, a value for the caller, turn receipts to keep beside. */
export interface Decided<T> {
  row: Row;
  value: T;
  turns?: KeptTurn[];
}

interface Found {
  remote: RemoteRecord;
  stops: StopsRecord;
  kept: KeptPet | undefined;
  outbox: OutboxRecord | undefined;
}

export class Records {
  /** Called when a newer app wants the database, somebody deletes it, or the browser closes it: this one has let go of it
      and can store nothing more. */
  onClosed: (why: "newer_app" | "records" | "deleted") => void = () => {};
  #database: IDBDatabase;

  private constructor(database: IDBDatabase) {
    this.#database = database;
    database.onversionchange = ({ newVersion }) => {
      database.close();
      this.onClosed(newVersion === null ? "deleted" : "newer_app");
    };
    // the browser closes it by itself when the site's data are cleared, or its disk fails
    database.onclose = () => void whyClosed().then((why) => this.onClosed(why));
  }

  /** Opens the records, made if they are not there, upgraded if they are the plain page's. */
  static async open(ids: Ids): Promise<Records> {
    const records = new Records(await opened());
    await records.#prepare(ids);
    return records;
  }

  close(): void {
    this.#database.close();
  }

  async #prepare(ids: Ids): Promise<void> {
    await this.#write([RECORDS], async (store) => {
      const records = store(RECORDS);
      const remote = understood<RemoteRecord>(REMOTE, await asked(records.get(REMOTE)));
      if (remote === undefined) records.put({ v: 1, deviceId: ids.uuid(), pets: {} }, REMOTE);
    });
  }

  /** The rows of all pets, in the order in which they came; read at one moment. */
  async rows(): Promise<Row[]> {
    const transaction = this.#begin([RECORDS, KEPT, OUTBOX]);
    const kept = transaction.objectStore(KEPT);
    const [remote, stops, keptIds, pets, outboxIds, outboxes] = await Promise.all([
      asked(transaction.objectStore(RECORDS).get(REMOTE)),
      asked(transaction.objectStore(RECORDS).get(STOPS)),
      asked(kept.getAllKeys()),
      asked(kept.getAll()),
      asked(transaction.objectStore(OUTBOX).getAllKeys()),
      asked(transaction.objectStore(OUTBOX).getAll()),
    ]);
    const keptOf = new Map(keptIds.map((id, at) => [String(id), pets[at] as unknown]));
    const outboxOf = new Map(outboxIds.map((id, at) => [String(id), outboxes[at] as unknown]));
    const record = remoteOf(remote);
    const ids = new Set([...Object.keys(record.pets), ...keptOf.keys()]);
    const rows = [...ids].map((localId) =>
      rowOf(localId, {
        remote: record,
        stops: stopsOf(stops),
        kept: keptPetOf(keptOf.get(localId)),
        outbox: outboxOfPet(outboxOf.get(localId)),
      }),
    );
    return rows.sort((a, b) => (a.kept?.addedMs ?? 0) - (b.kept?.addedMs ?? 0));
  }

  async row(localId: string): Promise<Row> {
    const transaction = this.#begin([RECORDS, KEPT, OUTBOX]);
    return rowOf(localId, await found((name) => transaction.objectStore(name), localId));
  }

  /** Reads one pet's row, decides, writes what changed: all or nothing, on the disk when it resolves. What `decide`
      throws is thrown, and nothing is written. `decide` must be synchronous and pure. */
  async change<T>(localId: string, decide: (row: Row) => Decided<T>): Promise<{ row: Row; value: T }> {
    return this.#write([RECORDS, KEPT, OUTBOX, TURNS], async (store) => {
      const before = await found(store, localId);
      const { row, value, turns = [] } = decide(rowOf(localId, before));
      put(store, before, row);
      if (row.kept === null) await trimTurns(store(TURNS), localId, 0);
      for (const turn of turns) store(TURNS).add(turn);
      if (turns.length > 0) await trimTurns(store(TURNS), localId, TURNS_MAX);
      return { row, value };
    });
  }

  /** Newest first. */
  async turns(localId: string): Promise<KeptTurn[]> {
    const turns = this.#begin([TURNS]).objectStore(TURNS).index(BY_PET);
    return newestFirst((await asked(turns.getAll(localId))) as KeptTurn[]);
  }

  async notes(): Promise<PageNotes> {
    return notesOf(await asked(this.#begin([RECORDS]).objectStore(RECORDS).get(NOTES)));
  }

  async setNotes(change: (notes: PageNotes) => PageNotes): Promise<void> {
    await this.#write([RECORDS], async (store) => {
      store(RECORDS).put(change(notesOf(await asked(store(RECORDS).get(NOTES)))), NOTES);
    });
  }

  /** A database that the browser has closed by itself (its data were cleared, its disk failed) is a fault of the records,
      not of the pet that wanted to be stored. */
  #begin(names: string[], mode: IDBTransactionMode = "readonly"): IDBTransaction {
    try {
      return this.#database.transaction(names, mode, { durability: "strict" });
    } catch (error) {
      throw failureOf(error as DOMException);
    }
  }

  /** `work` may await requests of its transaction and nothing else, or the transaction ends early. */
  #write<T>(names: string[], work: (store: Opener) => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const transaction = this.#begin(names, "readwrite");
      let outcome: { value: T } | null = null;
      let refusal: unknown = null;
      transaction.oncomplete = () =>
        outcome ? resolve(outcome.value) : reject(refusal ?? new HomeProblem("records_failed"));
      transaction.onabort = () => reject(refusal ?? failureOf(transaction.error));
      work((name) => transaction.objectStore(name)).then(
        (value) => (outcome = { value }),
        (error: unknown) => {
          refusal = error;
          abort(transaction);
        },
      );
    });
  }
}

type Opener = (name: string) => IDBObjectStore;

async function found(store: Opener, localId: string): Promise<Found> {
  const [remote, stops, kept, outbox] = await Promise.all([
    asked(store(RECORDS).get(REMOTE)),
    asked(store(RECORDS).get(STOPS)),
    asked(store(KEPT).get(localId)),
    asked(store(OUTBOX).get(localId)),
  ]);
  return { remote: remoteOf(remote), stops: stopsOf(stops), kept: keptPetOf(kept), outbox: outboxOfPet(outbox) };
}

function rowOf(localId: string, { remote, stops, kept, outbox }: Found): Row {
  const entry = Object.hasOwn(remote.pets, localId) ? remote.pets[localId]! : null;
  return { localId, deviceId: remote.deviceId, kept: kept ?? null, entry, stops: stops.stops, outbox: outbox ?? null };
}

/** Only what changed is written: a committed minute of one pet rewrites no other record. */
function put(store: Opener, before: Found, row: Row): void {
  const { localId } = row;
  const wasEntry = rowOf(localId, before).entry;
  if (row.entry !== wasEntry)
    store(RECORDS).put({ ...before.remote, pets: withPet(before.remote.pets, localId, row.entry) }, REMOTE);
  if (row.stops !== before.stops.stops) store(RECORDS).put({ ...before.stops, stops: row.stops }, STOPS);
  if (row.kept !== (before.kept ?? null)) putOrDelete(store(KEPT), localId, row.kept);
  if (row.outbox !== (before.outbox ?? null)) putOrDelete(store(OUTBOX), localId, row.outbox);
}

function putOrDelete(store: IDBObjectStore, localId: string, value: object | null): void {
  if (value === null) store.delete(localId);
  else store.put(value, localId);
}

function withPet(pets: Record<string, Entry>, localId: string, entry: Entry | null): Record<string, Entry> {
  const { [localId]: _, ...others } = pets;
  return entry === null ? others : { ...pets, [localId]: entry };
}

/** By when they were lived: those of a host come later than they were. One that came twice is the newest there is. */
function newestFirst(turns: KeptTurn[]): KeptTurn[] {
  const newest = new Map(turns.map((turn) => [turn.turnId, turn]));
  return [...newest.values()].reverse().sort((a, b) => b.atMs - a.atMs);
}

async function trimTurns(store: IDBObjectStore, localId: string, keep: number): Promise<void> {
  const index = store.index(BY_PET);
  const [keys, turns] = await Promise.all([asked(index.getAllKeys(localId)), asked(index.getAll(localId))]);
  if (keys.length <= keep) return;
  const kept = new Set(newestFirst(turns as KeptTurn[]).slice(0, keep));
  keys.forEach((key, at) => !kept.has(turns[at] as KeptTurn) && store.delete(key));
}

// --- what was read -------------------------------------------------------------------------------------------------

function remoteOf(value: unknown): RemoteRecord {
  const remote = understood<RemoteRecord>(REMOTE, value);
  if (remote === undefined || typeof remote.deviceId !== "string") throw new RecordsBroken(REMOTE, "/deviceId");
  if (typeof remote.pets !== "object" || remote.pets === null) throw new RecordsBroken(REMOTE, "/pets");
  return remote;
}

function stopsOf(value: unknown): StopsRecord {
  const stops = understood<StopsRecord>(STOPS, value) ?? { v: 1, stops: [] };
  if (!Array.isArray(stops.stops)) throw new RecordsBroken(STOPS, "/stops");
  return stops;
}

function keptPetOf(value: unknown): KeptPet | undefined {
  const kept = understood<KeptPet>(KEPT, value);
  if (kept === undefined) return undefined;
  const newest = Array.isArray(kept.checkpoints) ? kept.checkpoints[0] : undefined;
  if (typeof newest?.save !== "object" || newest.save === null) throw new RecordsBroken(KEPT, "/checkpoints/0/save");
  return kept;
}

function outboxOfPet(value: unknown): OutboxRecord | undefined {
  return understood<OutboxRecord>(OUTBOX, value);
}

function notesOf(value: unknown): PageNotes {
  const notes = typeof value === "object" && value !== null ? (value as Partial<PageNotes>) : {};
  return { ...notes, current: notes.current ?? null, seen: notes.seen ?? {} };
}

// --- IndexedDB as promises -----------------------------------------------------------------------------------------

function asked<T>(request: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(failureOf(request.error));
  });
}

function abort(transaction: IDBTransaction): void {
  try {
    transaction.abort();
  } catch {
    // it has ended by itself: its own event has told
  }
}

function failureOf(error: DOMException | null): HomeProblem {
  return new HomeProblem(error?.name === "QuotaExceededError" ? "storage_full" : "records_failed", {
    name: error?.name ?? "",
  });
}

/** Whether a database that the browser closed is still there. Nothing is made by looking. */
async function whyClosed(): Promise<"records" | "deleted"> {
  try {
    const names = (await indexedDB.databases()).map(({ name }) => name);
    return names.includes(DATABASE) ? "records" : "deleted";
  } catch {
    return "records";
  }
}

function opened(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(DATABASE, DATABASE_VERSION);
    let blocked: ReturnType<typeof setTimeout> | undefined;
    let gaveUp = false;
    request.onupgradeneeded = (event) => upgrade(request.result, event.oldVersion);
    request.onblocked = () => {
      blocked = setTimeout(() => {
        gaveUp = true;
        reject(new HomeProblem("records_blocked"));
      }, BLOCKED_MS_MAX);
    };
    request.onsuccess = () => {
      clearTimeout(blocked);
      // it comes when the other tab has gone: held by nobody, it would keep every later app from its records
      if (gaveUp) return request.result.close();
      resolve(request.result);
    };
    request.onerror = () => {
      const newer = request.error?.name === "VersionError";
      reject(newer ? new RecordsTooNew(DATABASE, null) : failureOf(request.error));
    };
  });
}

function upgrade(database: IDBDatabase, from: number): void {
  if (from < 1) {
    database.createObjectStore(RECORDS);
    database.createObjectStore(KEPT);
  }
  if (from < 2) {
    database.createObjectStore(OUTBOX);
    database.createObjectStore(TURNS, { autoIncrement: true }).createIndex(BY_PET, "localId");
  }
}
