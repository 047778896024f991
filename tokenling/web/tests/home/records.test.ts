import "fake-indexeddb/auto";

import { IDBFactory } from "fake-indexeddb";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import * as intents from "../../src/home/intents.ts";
import type { Row } from "../../src/home/layout.ts";
import { committed, mayRun, newestOf, withNewest } from "../../src/home/layout.ts";
import { RecordsBroken, RecordsTooNew, StaleExecution } from "../../src/home/problems.ts";
import type { KeptTurn } from "../../src/home/records.ts";
import { DATABASE, DATABASE_VERSION, Records, TURNS_MAX } from "../../src/home/records.ts";
import { withGranted, wishOf } from "../../src/home/wishes.ts";
import {
  connection,
  countingIds,
  entry,
  HOST,
  intent,
  KEY,
  NOW_MS,
  OTHER_HOST,
  row,
  saveOf,
  stop,
} from "./fixtures.ts";

const ids = countingIds();
let records: Records;

beforeEach(async () => {
  globalThis.indexedDB = new IDBFactory();
});

afterEach(() => {
  records?.close();
  vi.restoreAllMocks();
});

const turn = (turnId: string, localId = "pip"): KeptTurn => ({
  localId,
  turnId,
  kind: "idle",
  atMs: NOW_MS,
  receipt: { seed: 1 },
  choices: [],
});
const put = (localId: string, change: (row: Row) => Row) =>
  records.change(localId, (before) => ({ row: change(before), value: null }));
const arrived = (localId: string) => put(localId, (before) => ({ ...before, kept: row().kept }));

function database(
  version: number,
  upgrade: (database: IDBDatabase) => void,
  fill: (transaction: IDBTransaction) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open(DATABASE, version);
    request.onupgradeneeded = () => upgrade(request.result);
    request.onerror = () => reject(request.error);
    request.onsuccess = () => {
      const transaction = request.result.transaction([...request.result.objectStoreNames], "readwrite");
      fill(transaction);
      transaction.oncomplete = () => {
        request.result.close();
        resolve();
      };
    };
  });
}

const plainStores = (made: IDBDatabase) => {
  made.createObjectStore("records");
  made.createObjectStore("subtokenling.v1");
};

describe("a browser that kept the plain page's pets", () => {
  const notes = { current: "pip", seen: { pip: { atMs: 5, name: "Pip", watchedMs: 4 } } };
  const plain = {
    host: HOST,
    id: "id",
    key: KEY,
    epoch: 2,
    intent: intent("park", { epoch: 2 }),
    checkpointRevision: 9,
  };
  const checkpoints = [9, 8, 7].map((revision) => ({
    atMs: NOW_MS + revision,
    epoch: 2,
    revision,
    save: saveOf(String(revision)),
  }));

  beforeEach(() =>
    database(1, plainStores, (transaction) => {
      transaction
        .objectStore("records")
        .put({ v: 1, deviceId: "old-device", pets: { pip: plain } }, "subtokenling.remote.v1");
      transaction.objectStore("records").put(notes, "subtokenling.page.v1");
      transaction.objectStore("subtokenling.v1").put({ v: 1, checkpoints }, "pip");
    }),
  );

  test("has each of them, its moves and its notes in the app", async () => {
    records = await Records.open(ids);
    const [found, ...others] = await records.rows();
    expect(others).toEqual([]);
    expect(found).toEqual({
      localId: "pip",
      deviceId: "old-device",
      kept: { v: 1, checkpoints },
      entry: plain,
      stops: [],
      outbox: null,
    });
    expect(await records.notes()).toEqual(notes);
  });

  test("loses nothing when an upgrade was cut off", async () => {
    const first = indexedDB.open(DATABASE, DATABASE_VERSION);
    await new Promise<void>((resolve) => {
      first.onupgradeneeded = () => first.transaction!.abort();
      first.onerror = () => resolve();
    });
    records = await Records.open(ids);
    expect((await records.rows())[0]!.entry).toEqual(plain);
  });
});

describe("a newer app's records", () => {
  test("are refused as a whole database", async () => {
    await database(DATABASE_VERSION + 1, plainStores, () => undefined);
    await expect(Records.open(ids)).rejects.toBeInstanceOf(RecordsTooNew);
  });

  test.each([
    ["subtokenling.remote.v1", "records", { v: 2, deviceId: "d", pets: { pip: "secret" } }],
    ["subtokenling.remote-stops.v1", "records", { v: 2, stops: [] }],
  ])("are refused in %s and not overwritten", async (key, store, value) => {
    records = await Records.open(ids);
    await arrived("pip");
    records.close();
    await database(
      DATABASE_VERSION,
      () => undefined,
      (transaction) => transaction.objectStore(store).put(value, key),
    );
    await expect((async () => (records = await Records.open(ids)).rows())()).rejects.toBeInstanceOf(RecordsTooNew);
    await expect((async () => (records = await Records.open(ids)).row("pip"))()).rejects.toBeInstanceOf(RecordsTooNew);
    const read = await new Promise((resolve) => {
      const request = indexedDB.open(DATABASE);
      request.onsuccess = () => {
        const asked = request.result.transaction(store).objectStore(store).get(key);
        asked.onsuccess = () => resolve(asked.result);
      };
    });
    expect(read).toEqual(value);
  });

  test("of one pet are refused, and so is what is no save", async () => {
    records = await Records.open(ids);
    records.close();
    const kept = (value: unknown) =>
      database(
        DATABASE_VERSION,
        () => undefined,
        (transaction) => transaction.objectStore("subtokenling.v1").put(value, "pip"),
      );
    await kept({ v: 3, checkpoints: [] });
    records = await Records.open(ids);
    await expect(put("pip", intents.gone)).rejects.toBeInstanceOf(RecordsTooNew);
    records.close();
    await kept({ v: 1, checkpoints: [{}] });
    records = await Records.open(ids);
    await expect(records.row("pip")).rejects.toBeInstanceOf(RecordsBroken);
  });
});

test("the device id is drawn once and stays", async () => {
  records = await Records.open(ids);
  await arrived("pip");
  const { deviceId } = await records.row("pip");
  records.close();
  records = await Records.open(ids);
  expect((await records.row("pip")).deviceId).toBe(deviceId);
});

test("pets come in the order in which they were added", async () => {
  records = await Records.open(ids);
  for (const [localId, addedMs] of [
    ["c", 1],
    ["a", 2],
    ["b", 3],
  ] as const)
    await put(localId, (before) => ({ ...before, kept: { ...row().kept!, addedMs } }));
  expect((await records.rows()).map(({ localId }) => localId)).toEqual(["c", "a", "b"]);
});

test("a refusal in a decision writes nothing", async () => {
  records = await Records.open(ids);
  await arrived("pip");
  const before = await records.row("pip");
  await expect(
    put("pip", (one) => committed(one, { read: 6, save: saveOf("late"), nowMs: NOW_MS })),
  ).rejects.toBeInstanceOf(StaleExecution);
  expect(await records.row("pip")).toEqual(before);
});

test("of two commits on the same revision one is refused", async () => {
  records = await Records.open(ids);
  await arrived("pip");
  const commit = (mark: string) => put("pip", (one) => committed(one, { read: 7, save: saveOf(mark), nowMs: NOW_MS }));
  const outcomes = await Promise.allSettled([commit("first"), commit("second")]);
  expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
  expect(newestOf(await records.row("pip"))).toMatchObject({ revision: 8, save: saveOf("first") });
});

test("the last fifty turn receipts of each pet are kept, newest first, and go with their pet", async () => {
  records = await Records.open(ids);
  await arrived("pip");
  await arrived("pap");
  for (let count = 0; count < TURNS_MAX + 5; count += 1)
    await records.change("pip", (one) => ({ row: one, value: null, turns: [turn(`i${count}`)] }));
  await records.change("pap", (one) => ({ row: one, value: null, turns: [turn("i0", "pap")] }));
  const kept = await records.turns("pip");
  expect([kept.length, kept[0]!.turnId, kept.at(-1)!.turnId]).toEqual([TURNS_MAX, `i${TURNS_MAX + 4}`, "i5"]);
  await put("pip", intents.gone);
  expect([await records.turns("pip"), (await records.turns("pap")).length]).toEqual([[], 1]);
});

test("receipts that a host gave late stand where they were lived, and the oldest go first", async () => {
  records = await Records.open(ids);
  await arrived("pip");
  const lived = (turnId: string, minute: number) => ({ ...turn(turnId), atMs: NOW_MS + minute * 60_000 });
  const keep = (...turns: KeptTurn[]) => records.change("pip", (one) => ({ row: one, value: null, turns }));
  for (let count = 0; count < TURNS_MAX; count += 1) await keep(lived(`i${count}`, 10 + count));
  await keep(lived("r1", 5), lived("r2", 12));
  await keep(lived("r2", 12));
  const kept = (await records.turns("pip")).map(({ turnId }) => turnId);
  expect(kept).toHaveLength(TURNS_MAX);
  expect(kept.slice(-3)).toEqual(["r2", "i2", "i1"]);
});

test("notes are changed in one transaction each", async () => {
  records = await Records.open(ids);
  const see = (localId: string) =>
    records.setNotes((notes) => ({ ...notes, seen: { ...notes.seen, [localId]: { atMs: 1, name: localId } } }));
  await Promise.all([see("a"), see("b"), see("c")]);
  expect(Object.keys((await records.notes()).seen)).toEqual(["a", "b", "c"]);
});

/** Every transaction of a pet's life, killed before each of its writes: the row is the one before or the one after. */
describe("a page that is killed between any two writes", () => {
  const host = connection({ host: OTHER_HOST, id: "other" });
  const acts: [string, Row, (row: Row) => Row, KeptTurn?][] = [
    [
      "a committed turn",
      row({ entry: null }),
      (one) => committed(one, { read: 7, save: saveOf("later"), nowMs: NOW_MS }),
      turn("i1"),
    ],
    ["moving out", row({ entry: null }), (one) => intents.moveOut(one, HOST, ids)],
    [
      "the end of a parking",
      row({ entry: entry({ intent: intent("park") }) }),
      (one) => ({
        ...one,
        kept: { v: 1, checkpoints: [{ atMs: 1, epoch: 4, revision: 8, save: saveOf("home") }] },
        entry: entry({ mode: "local" }),
      }),
    ],
    [
      "a recovery",
      row({ outbox: { v: 1, wishes: [{ ...host, operationId: "o", command: {} }] } }),
      (one) => intents.recover(one, ids, NOW_MS),
    ],
    [
      "a wish that is applied",
      row({ entry: null, outbox: { v: 1, wishes: [wishOf({ kind: "say", text: "hello" }, "o", null)] } }),
      (one) => withGranted(committed(one, { read: 7, save: saveOf("later"), nowMs: NOW_MS }), "o"),
    ],
    [
      "a recovery from an older copy",
      withNewest(row(), { atMs: NOW_MS + 1, epoch: 3, revision: 8, save: saveOf("later") }),
      (one) => intents.recover(one, ids, NOW_MS, { atMs: NOW_MS, revision: 7 }),
    ],
    [
      "the owner's choice of here",
      row({ entry: entry({ mode: "local" }), stops: [stop()] }),
      (one) => intents.keepHere(one, 5, ids, NOW_MS),
    ],
    ["the owner's choice of there", row({ entry: entry({ mode: "local" }), stops: [stop()] }), intents.keepThere],
    ["a copy that becomes another pet", row({ entry: entry({ mode: "local" }), stops: [stop()] }), intents.asAnother],
    ["a deletion", row({ stops: [stop()] }), intents.gone],
  ];

  test.each(acts)("in %s leaves the row before or the row after", async (_, before, act, receipt) => {
    records = await Records.open(ids);
    await put("pip", (one) => ({ ...before, deviceId: one.deviceId }));
    const stored = await records.row("pip");
    const writes = await failingAt(Number.POSITIVE_INFINITY, () => records.change("pip", (one) => decided(act(one))));
    expect(writes).toBeGreaterThan(0);
    const after = await records.row("pip");
    expect(after).not.toEqual(stored);
    for (let at = 1; at <= writes; at += 1) {
      await put("pip", () => stored);
      const turns = await records.turns("pip");
      await failingAt(at, () => records.change("pip", (one) => decided(act(one)))).catch(() => undefined);
      expect(await records.row("pip"), `killed before write ${at}`).toEqual(stored);
      expect(await records.turns("pip")).toEqual(turns);
      expect(mayRun(await records.row("pip"))).toBe(mayRun(stored));
    }
    function decided(changed: Row) {
      return { row: changed, value: null, ...(receipt ? { turns: [receipt] } : {}) };
    }
  });
});

/** Runs `work` with the transaction killed before its write number `at`; returns how many writes there were. */
async function failingAt(at: number, work: () => Promise<unknown>): Promise<number> {
  let writes = 0;
  const spies = (["put", "add", "delete"] as const).map((name) => {
    const real = IDBObjectStore.prototype[name] as (this: IDBObjectStore, ...args: unknown[]) => unknown;
    return vi.spyOn(IDBObjectStore.prototype, name).mockImplementation(function (
      this: IDBObjectStore,
      ...args: unknown[]
    ) {
      writes += 1;
      if (writes === at) {
        this.transaction.abort();
        throw new DOMException("killed", "AbortError");
      }
      return real.apply(this, args) as IDBRequest<IDBValidKey> & IDBRequest<undefined>;
    });
  });
  try {
    await work();
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
  return writes;
}

describe("a database that goes away under an open page", () => {
  const kept = { v: 1 as const, checkpoints: [{ atMs: NOW_MS, epoch: 0, revision: 1, save: saveOf("a") }] };

  test("is a fault of the records when the browser closed it", async () => {
    records = await Records.open(ids);
    records.close();
    const store = records.change("pip", (before) => ({ row: { ...before, kept }, value: null }));
    await expect(store).rejects.toMatchObject({ code: "records_failed", fields: { name: "InvalidStateError" } });
    for (const read of [records.rows(), records.row("pip"), records.turns("pip"), records.notes()])
      await expect(read).rejects.toMatchObject({ code: "records_failed" });
  });

  test.each([
    ["a newer app", "newer_app", () => indexedDB.open(DATABASE, DATABASE_VERSION + 1)],
    ["its deletion", "deleted", () => indexedDB.deleteDatabase(DATABASE)],
  ])("says whether it was %s", async (_, why, ask) => {
    records = await Records.open(ids);
    const told = new Promise((resolve) => (records.onClosed = resolve));
    ask();
    expect(await told).toBe(why);
  });
});

test("records that came too late are let go of: nothing stands in the way of a later app", async () => {
  const held = await new Promise<IDBDatabase>((resolve) => {
    const request = indexedDB.open(DATABASE, 1);
    request.onupgradeneeded = () => plainStores(request.result);
    request.onsuccess = () => resolve(request.result);
  });
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const refused = expect(Records.open(ids)).rejects.toMatchObject({ code: "records_blocked" });
  await vi.waitFor(() => expect(vi.getTimerCount()).toBeGreaterThan(0));
  await vi.advanceTimersByTimeAsync(10_000);
  await refused;
  vi.useRealTimers();
  held.close();
  const blocked = vi.fn();
  await new Promise<void>((resolve, reject) => {
    const request = indexedDB.open(DATABASE, DATABASE_VERSION + 1);
    request.onblocked = blocked;
    request.onsuccess = () => (request.result.close(), resolve());
    request.onerror = () => reject(request.error);
    setTimeout(() => reject(new Error("a tab that gave up still holds the records")), 2000);
  });
  expect(blocked).not.toHaveBeenCalled();
});
