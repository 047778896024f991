import "fake-indexeddb/auto";

import { IDBFactory } from "fake-indexeddb";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { newestOf } from "../../src/home/layout.ts";
import { Records } from "../../src/home/records.ts";
import { RemoteLife } from "../../src/home/remote_life.ts";
import { Sync } from "../../src/home/sync.ts";
import { until } from "../until.ts";
import { connection, countingIds, entry, NOW_MS, PET_ID, row, saveOf } from "./fixtures.ts";

/* How often a host is asked that does not let the page wait. `fetch` is the border. */

const ENOUGH = 1000;
let sync: Sync | null = null;

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  sync?.stop();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const view = (revision: number) => ({
  id: PET_ID, status: "active", epoch: 3, revision, save: saveOf("a"), effects: [], game: null, thinking: false, error: null, serverTime: 1,
});

/** A host that answers at once; `headers` by the number of the request. Counts what it is asked in ten seconds. */
async function askedInTenSeconds(headers: (count: number) => Record<string, string>, status = 200): Promise<number> {
  let count = 0;
  vi.stubGlobal("fetch", async () => {
    count += 1;
    if (count > ENOUGH) return new Promise<Response>(() => {}); // a loop without a pause would never end
    const code = count === 1 ? 200 : status;
    const body = code === 304 ? null : JSON.stringify(view(count));
    return new Response(body, { status: code, headers: { "Content-Type": "application/json", ...headers(count) } });
  });
  sync = new Sync({
    connection: () => connection(),
    watched: () => true,
    hidden: () => false,
    now: () => Date.now(),
    onView: () => {},
    mark: () => 0,
    onHeard: () => {},
    onSilence: () => {},
    onRefusal: () => {},
  });
  sync.start();
  await vi.advanceTimersByTimeAsync(10_000);
  return count;
}

test("a host whose answers carry no tag is asked once a second", async () => {
  expect(await askedInTenSeconds(() => ({}))).toBeLessThanOrEqual(11);
});

test("a host that has news without end is asked ten times a second at most", async () => {
  const asked = await askedInTenSeconds((count) => ({ ETag: `"${count}"` }));
  expect(asked).toBeGreaterThan(50);
  expect(asked).toBeLessThanOrEqual(102);
});

test("a host that answers at once that nothing is new is asked once a second", async () => {
  expect(await askedInTenSeconds(() => ({ ETag: `"1"` }), 304)).toBeLessThanOrEqual(12);
});

test("a copy is kept of what comes after the clock was set back", async () => {
  vi.useRealTimers();
  globalThis.indexedDB = new IDBFactory();
  const records = await Records.open(countingIds());
  const remote = { ...row(), entry: { ...entry(), id: PET_ID, mode: "remote" as const, intent: null } };
  await records.change(remote.localId, () => ({ row: remote, value: null }));
  let [revision, nowMs] = [100, NOW_MS];
  const tags = () => ({ "Content-Type": "application/json", ETag: `"${(revision += 1)}"` });
  vi.stubGlobal("fetch", async () => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    return new Response(JSON.stringify(view(revision + 1)), { status: 200, headers: tags() });
  });
  const life = new RemoteLife(await records.row(remote.localId), {
    localId: remote.localId,
    records,
    now: () => nowMs,
    watched: () => true,
    hidden: () => false,
    online: () => true,
    inspect: async () => null,
    onChange: () => {},
    onSeen: () => {},
  });
  const kept = async () => newestOf(await records.row(remote.localId))!.revision;
  life.start();
  await until(async () => (await kept()) > 100);
  nowMs -= 86_400_000;
  const then = revision;
  await until(async () => (await kept()) > then);
  life.stop();
  records.close();
});
