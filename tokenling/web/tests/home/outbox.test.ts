import "fake-indexeddb/auto";

import { IDBFactory } from "fake-indexeddb";
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import type { Brain, Command, JsonObject } from "../../src/contract.ts";
import * as files from "../../src/home/files.ts";
import * as intents from "../../src/home/intents.ts";
import { Lane } from "../../src/home/lane.ts";
import { newestOf } from "../../src/home/layout.ts";
import { LocalLife } from "../../src/home/local_life.ts";
import { Outbox, WAITING_MAX } from "../../src/home/outbox.ts";
import type { Grant, OutboxParts } from "../../src/home/outbox.ts";
import { HomeProblem } from "../../src/home/problems.ts";
import { Records } from "../../src/home/records.ts";
import { wishOf, withWish } from "../../src/home/wishes.ts";
import { until } from "../until.ts";
import { connection, countingIds, entry, intent, localRow, NOW_MS, row } from "./fixtures.ts";
import { nativeEngine } from "./native_engine.ts";

/* Wishes of a pet that lives in the page: the real engine, real records in an IndexedDB of memory. Wishes to hosts are
   tested before a real host, in a browser (tests/browser/test_home_words.py). */

const engine = nativeEngine();
afterAll(() => engine.stop());

const ids = countingIds();
const say = (text: string): Command => ({ kind: "say", text });
let records: Records;
let closing: (() => Promise<void> | void)[] = [];

beforeEach(async () => {
  globalThis.indexedDB = new IDBFactory();
  records = await Records.open(ids);
});

afterEach(async () => {
  for (const close of closing) await close();
  closing = [];
  records.close();
  vi.restoreAllMocks();
});

async function adopted(): Promise<void> {
  const facts = { name: "Pip", petSeed: "seed", timeZone: "UTC", brainId: "sprout-1", nowMs: NOW_MS };
  const save = await files.newborn(engine, facts);
  const checkpoints = [{ atMs: NOW_MS, epoch: 0, revision: 1, save }];
  await records.change("pip", (one) => ({ row: { ...one, kept: { v: 1, checkpoints } }, value: null }));
}

/** A page as it is after a reload: what the disk has, and an executor whose engine comes when it is let. */
async function page(ready: Promise<unknown> = Promise.resolve(), change: Partial<OutboxParts> = {}) {
  const stored = await records.row("pip");
  const silent = { generate: () => new Promise(() => undefined) } as unknown as Brain;
  const life = new LocalLife(stored, {
    localId: "pip",
    records,
    lane: new Lane(() => NOW_MS),
    engine: () => ready.then(() => engine),
    brain: async () => silent,
    brainId: "sprout-1",
    now: () => NOW_MS,
    watched: () => false,
    onChange: () => undefined,
    onStale: () => undefined,
  });
  const outbox: Outbox = new Outbox(stored, {
    localId: "pip",
    records,
    ids,
    here: () => (wish) => life.grant(wish),
    there: () => null,
    onChange: (changed) => changed && outbox.know(changed),
    onRefused: () => undefined,
    ...change,
  });
  closing.push(async () => {
    outbox.stop();
    await life.stop();
  });
  return { life, outbox };
}

const owner = async () =>
  ((newestOf(await records.row("pip"))!.save.chat as JsonObject[]) ?? [])
    .filter(({ who }) => who === "owner")
    .map(({ text }) => text);
const shown = (outbox: Outbox) => outbox.pending().map(({ command, state }) => [(command as { text: string }).text, state]);

describe("words to a pet that lives here", () => {
  test("are shown at once and on the disk before the rules are there; a reload says them once, in order", async () => {
    await adopted();
    const { life, outbox } = await page(new Promise(() => undefined));
    void outbox.send(say("one")).catch(() => undefined);
    void outbox.send(say("two")).catch(() => undefined);
    expect(shown(outbox)).toEqual([
      ["one", "sending"],
      ["two", "sending"],
    ]);
    await until(async () => (await records.row("pip")).outbox?.wishes.length === 2);
    outbox.stop();
    void life.stop();
    closing = [];
    const after = await page();
    expect(shown(after.outbox)).toHaveLength(2);
    after.outbox.start();
    await until(() => shown(after.outbox).length === 0);
    expect(await owner()).toEqual(["one", "two"]);
    expect((await records.row("pip")).outbox).toBeNull();
    const last = await page();
    last.outbox.start();
    expect(await owner()).toEqual(["one", "two"]);
  });

  test("are applied once, by whichever of two executors comes first", async () => {
    await adopted();
    await records.change("pip", (one) => ({ row: withWish(one, wishOf(say("once"), "o", null)), value: null }));
    const [a, b] = [await page(), await page()];
    a.outbox.start();
    b.outbox.start();
    await until(async () => (await owner()).length > 0 && (await records.row("pip")).outbox === null);
    expect(await owner()).toEqual(["once"]);
  });

  test("are applied once even when nothing but them changes", async () => {
    await adopted();
    const { outbox } = await page();
    await outbox.send({ kind: "settings", chatter: 2 });
    await outbox.send({ kind: "settings", chatter: 2 });
    expect((await records.row("pip")).outbox).toBeNull();
    expect(outbox.pending()).toEqual([]);
  });

  test("that the rules refuse come back to who waits, and are off the disk", async () => {
    await adopted();
    const { outbox } = await page();
    await expect(outbox.send({ kind: "care", action: "tickle" })).rejects.toMatchObject({ code: "unknown_value" });
    expect([(await records.row("pip")).outbox, outbox.pending()]).toEqual([null, []]);
  });

  test("that cannot be stored come back at once, and nothing is shown", async () => {
    await adopted();
    const { outbox } = await page();
    vi.spyOn(records, "change").mockRejectedValueOnce(new HomeProblem("storage_full"));
    await expect(outbox.send(say("hello"))).rejects.toMatchObject({ code: "storage_full" });
    expect(outbox.pending()).toEqual([]);
    await outbox.send(say("hello"));
    expect(await owner()).toEqual(["hello"]);
  });

  test("wait while the rules do not load, and are said when they do", async () => {
    await adopted();
    let fails = 2;
    const life = { grant: vi.fn() };
    const { outbox, life: real } = await page(undefined, { here: () => life.grant });
    life.grant.mockImplementation((wish) => {
      if ((fails -= 1) >= 0) throw new HomeProblem("no_engine");
      return real.grant(wish);
    });
    const sent = outbox.send(say("patience"));
    await until(() => shown(outbox)[0]?.[1] === "repeating");
    outbox.retry();
    await sent;
    expect([await owner(), life.grant.mock.calls.length]).toEqual([["patience"], 3]);
  });

  test("wait for the next executor when this one ends", async () => {
    await adopted();
    let grant: Grant = () => Promise.reject(new HomeProblem("not_running"));
    const { outbox, life } = await page(undefined, { here: () => grant });
    const sent = outbox.send(say("hello"));
    await until(async () => (await records.row("pip")).outbox !== null);
    expect(shown(outbox)).toEqual([["hello", "sending"]]);
    grant = (wish) => life.grant(wish);
    outbox.start();
    await sent;
    expect(await owner()).toEqual(["hello"]);
  });

  test("are bounded", async () => {
    await adopted();
    const { outbox } = await page(new Promise(() => undefined));
    for (let count = 0; count < WAITING_MAX; count += 1) void outbox.send(say(`w${count}`)).catch(() => undefined);
    await expect(outbox.send(say("one more"))).rejects.toMatchObject({ code: "outbox_full" });
  });
});

describe("words that were sent to a host", () => {
  const sent = wishOf(say("are you there?"), "o", connection());

  test("come back to who waits for them when the pet goes on without it, and can be said again, once", async () => {
    await adopted();
    await records.change("pip", (one) => ({ row: { ...one, entry: entry(), outbox: { v: 1, wishes: [sent] } }, value: null }));
    const { outbox } = await page();
    const { row: home } = await records.change("pip", (one) => ({ row: intents.recover(one, ids, NOW_MS), value: null }));
    outbox.know(home);
    expect(shown(outbox)).toEqual([["are you there?", "returned"]]);
    const { operationId } = outbox.pending()[0]!;
    await outbox.again(operationId);
    expect([await owner(), outbox.pending()]).toEqual([["are you there?"], []]);
    await expect(outbox.again(operationId)).rejects.toMatchObject({ code: "wish_gone" });
  });

  test("are told to who sends them, and as no unhandled fault, when they come back while they are stored", async () => {
    await adopted();
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => void unhandled.push(reason);
    process.on("unhandledRejection", note);
    const { outbox } = await page(new Promise(() => undefined));
    const stored = await records.row("pip");
    const answered = outbox.send(say("are you there?"));
    const { operationId, command } = outbox.pending()[0]!;
    const returned = [{ operationId, command: command as unknown as JsonObject }];
    outbox.know({ ...stored, outbox: { v: 1, wishes: [], returned } });
    await new Promise((resolve) => setImmediate(resolve)); // what nobody took is told a turn later
    await expect(answered).rejects.toMatchObject({ code: "returned" });
    process.off("unhandledRejection", note);
    expect(unhandled).toEqual([]);
  });

  test("and came back outlive a reload until they are let go", async () => {
    await adopted();
    const { command } = sent;
    const returned = [{ operationId: "o", command }];
    await records.change("pip", (one) => ({ row: { ...one, outbox: { v: 1, wishes: [], returned } }, value: null }));
    const { outbox } = await page();
    expect(shown(outbox)).toEqual([["are you there?", "returned"]]);
    await outbox.letGo("o");
    expect([outbox.pending(), (await records.row("pip")).outbox]).toEqual([[], null]);
    await outbox.letGo("o");
  });

  test("do not keep a pet that is at home from hearing what is said now", async () => {
    const silence = new Promise<Response>(() => undefined);
    vi.stubGlobal("fetch", () => silence);
    await adopted();
    await records.change("pip", (one) => ({
      row: { ...one, entry: entry({ mode: "local" }), outbox: { v: 1, wishes: [sent] } },
      value: null,
    }));
    const { outbox } = await page();
    outbox.start();
    await outbox.send(say("here i am"));
    expect(await owner()).toEqual(["here i am"]);
    vi.unstubAllGlobals();
  });
});

test("a row's own fields of the outbox that this version does not know are kept", () => {
  const outbox = { v: 1 as const, wishes: [], more: "later" };
  const before = { ...localRow({ intent: intent("prepare") }), outbox };
  expect(withWish(before, wishOf(say("a"), "o", null)).outbox).toMatchObject({ more: "later" });
  expect(row().outbox).toBeNull();
});
