import "fake-indexeddb/auto";

import { IDBFactory } from "fake-indexeddb";
import { afterAll, afterEach, beforeEach, expect, test, vi } from "vitest";

import type { Brain, Command, Generated, GenerationRequest, JsonObject } from "../../src/contract.ts";
import * as files from "../../src/home/files.ts";
import * as intents from "../../src/home/intents.ts";
import { Lane } from "../../src/home/lane.ts";
import type { Row } from "../../src/home/layout.ts";
import { newestOf } from "../../src/home/layout.ts";
import type { LifeParts } from "../../src/home/local_life.ts";
import { backOffMs, LocalLife } from "../../src/home/local_life.ts";
import { HomeProblem } from "../../src/home/problems.ts";
import { Records } from "../../src/home/records.ts";
import { withWish, wishOf } from "../../src/home/wishes.ts";
import { countingIds, entry, HOST, NOW_MS } from "./fixtures.ts";
import { until } from "../until.ts";
import { nativeEngine } from "./native_engine.ts";

/* The real engine in a Python process, real records in an IndexedDB of memory, a scripted brain, a clock that stands
   still until a test moves it. */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

const engine = nativeEngine();
afterAll(() => engine.stop());

let nowMs = NOW_MS;
let records: Records;
let lives: LocalLife[] = [];

beforeEach(async () => {
  globalThis.indexedDB = new IDBFactory();
  nowMs = NOW_MS;
  records = await Records.open(countingIds());
});

afterEach(async () => {
  await Promise.all(lives.map((life) => life.stop()));
  lives = [];
  records.close();
  vi.restoreAllMocks();
});

interface Script {
  brain: Brain;
  requests: GenerationRequest[];
  signals: AbortSignal[];
}

type Words = string | Error | (() => Promise<string>);

/** Says what it is told to say; the seed's last digits otherwise, so that each turn has words of its own. */
function scripted(
  words: (request: GenerationRequest, count: number) => Words = ({ seed }) => `word ${seed % 1000}.`,
): Script {
  const script: Script = { brain: null as unknown as Brain, requests: [], signals: [] };
  const generate: Brain["generate"] = async (request, options) => {
    script.requests.push(request);
    script.signals.push(options!.signal!);
    const said = words(request, script.requests.length);
    if (said instanceof Error) throw said;
    const text = typeof said === "string" ? said : await said();
    options?.onText?.(text.slice(0, 3));
    options?.signal?.throwIfAborted();
    return { reply: { text, stop: "eos" }, receipt: { seed: request.seed }, choices: [] } satisfies Generated;
  };
  script.brain = { info: { id: "sprout-1" }, generate } as unknown as Brain;
  return script;
}

async function adopted(localId = "pip", change: (row: Row) => Row = (row) => row): Promise<Row> {
  const save = await files.newborn(engine, {
    name: "Pip",
    petSeed: "seed",
    timeZone: "UTC",
    brainId: "sprout-1",
    nowMs,
  });
  const checkpoints = [{ atMs: nowMs, epoch: 0, revision: 1, save }];
  return (
    await records.change(localId, (row) => ({ row: change({ ...row, kept: { v: 1, checkpoints } }), value: null }))
  ).row;
}

function living(row: Row, script: Script, parts: Partial<LifeParts> = {}): LocalLife {
  const life = new LocalLife(row, {
    localId: row.localId,
    records,
    lane: new Lane(() => nowMs),
    engine: () => Promise.resolve(engine),
    brain: () => Promise.resolve(script.brain),
    brainId: "sprout-1",
    now: () => nowMs,
    watched: () => false,
    onChange: () => undefined,
    onStale: () => undefined,
    ...parts,
  });
  lives.push(life);
  return life;
}

/** A wish as the outbox stores it, and then the executor's. */
async function sent(life: LocalLife, command: Command, localId = "pip"): Promise<void> {
  const wish = wishOf(command, ids.uuid(), null);
  await records.change(localId, (row) => ({ row: withWish(row, wish), value: null }));
  await life.grant(wish);
}

const ids = countingIds();
const stored = async (localId = "pip") => newestOf(await records.row(localId))!;
const chatOf = (save: JsonObject) => (save.chat as { who: string; text: string; turn?: string }[]) ?? [];
/** Who spoke last by what the page shows, which is told a moment after it is stored. */
const shownIn = (life: LocalLife) => chatOf(life.snapshot().save ?? {}).at(-1)?.who;
const clockOf = (save: JsonObject) => Number(save.bodyClockMs);
const say = (text: string): Command => ({ kind: "say", text });
const minute = (ms: number) => ms - (ms % MINUTE_MS);

/** Until nothing is due: the clock stands still, so the life rests by itself. */
async function lived(life: LocalLife, localId = "pip"): Promise<JsonObject> {
  life.wake();
  await until(() => atRest(localId));
  return (await stored(localId)).save;
}

async function atRest(localId: string): Promise<boolean> {
  const { turn, dueMs, bodyClockMs } = await engine.call("view", {
    state: JSON.stringify((await stored(localId)).save),
  });
  return turn === null && dueMs > nowMs && bodyClockMs <= nowMs + MINUTE_MS;
}

/** The stored pet as it is now: a life stores what is visible, the minutes since then are the engine's to tell. */
async function nowOf(localId = "pip"): Promise<JsonObject> {
  const step = await engine.call("advance", { state: JSON.stringify((await stored(localId)).save), nowMs });
  return JSON.parse(step.state) as JsonObject;
}

test("a command is on the disk when it is acknowledged, and its reply follows with its receipt", async () => {
  const script = scripted(() => "hello you.");
  const life = living(await adopted(), script);
  await sent(life, say("hi there"));
  expect(chatOf((await stored()).save).at(-1)).toMatchObject({ who: "owner", text: "hi there" });
  await until(async () => chatOf((await stored()).save).at(-1)!.who === "pet");
  const line = chatOf((await stored()).save).at(-1)!;
  expect(line.text).toBe("hello you.");
  const [kept] = await records.turns("pip");
  expect(kept).toMatchObject({ turnId: line.turn, kind: "reactive", receipt: { seed: script.requests.at(-1)!.seed } });
});

test("a day that was missed is lived late in the bytes of one that was not", async () => {
  const row = await adopted();
  const script = scripted();
  const life = living(row, script);
  await sent(life, say("good night"));
  const start = { ...(await lived(life)) };
  for (let hours = 1; hours <= 24; hours += 1) {
    nowMs = NOW_MS + hours * HOUR_MS;
    await lived(life);
    // what was missed is lived, whether or not something is due next: the page says so no longer
    await until(() => life.snapshot().catchUp === null);
  }
  const open = await nowOf();
  await life.stop();
  await records.change("pap", (one) => ({
    row: { ...one, kept: { v: 1, checkpoints: [{ atMs: NOW_MS, epoch: 0, revision: 1, save: start }] } },
    value: null,
  }));
  const late = scripted();
  const closed = living(await records.row("pap"), late);
  await lived(closed, "pap");
  expect(JSON.stringify(await nowOf("pap"))).toBe(JSON.stringify(open));
  expect(late.requests.length).toBeGreaterThan(5);
}, 60_000);

test("missed time tells how far it has been lived, and a page that is closed meanwhile goes on from there", async () => {
  const row = await adopted();
  const first = living(row, scripted());
  await sent(first, say("hello"));
  await lived(first);
  await first.stop();
  nowMs += DAY_MS;
  let halt = () => {};
  const halfway = new Promise<string>((resolve) => (halt = () => resolve("cut")));
  const script = scripted((_, count) => (count === 4 ? () => halfway : `word ${count}.`));
  const cut = living(await records.row("pip"), script);
  cut.wake();
  await until(() => script.requests.length === 4);
  const { catchUp } = cut.snapshot();
  expect(catchUp!.fromMs).toBeLessThan(catchUp!.nowMs);
  expect(catchUp!.nowMs).toBeLessThan(catchUp!.toMs);
  const stopped = cut.stop();
  halt();
  await stopped;
  const before = (await stored()).save;
  expect(chatOf(before).filter(({ text }) => text === "cut")).toEqual([]);
  const again = living(await records.row("pip"), scripted());
  await lived(again);
  await until(() => again.snapshot().catchUp === null);
  expect(clockOf(await nowOf())).toBe(minute(nowMs));
}, 40_000);

test("an owner who comes while a day is being lived late is answered now: what was due by itself is skipped", async () => {
  const first = living(await adopted(), scripted());
  await sent(first, say("hello"));
  await lived(first);
  await first.stop();
  nowMs += DAY_MS;
  let halt = () => {};
  const slow = new Promise<string>((resolve) => (halt = () => resolve("too late")));
  const script = scripted((request, count) => (count === 1 ? () => slow : `answer ${request.lines.length}.`));
  const life = living(await records.row("pip"), script);
  life.wake();
  await until(() => script.requests.length === 1);
  await sent(life, say("i am back"));
  expect(script.signals[0]!.aborted).toBe(true);
  halt();
  await until(async () =>
    chatOf((await stored()).save)
      .at(-1)!
      .text.startsWith("answer"),
  );
  expect(script.requests.length).toBeLessThan(5);
  expect(clockOf(await lived(life))).toBeGreaterThan(nowMs - HOUR_MS);
  expect(chatOf((await stored()).save).some(({ text }) => text === "too late")).toBe(false);
}, 40_000);

test("a reply that was asked for before the pet moved is dropped", async () => {
  let halt = () => {};
  const slow = new Promise<string>((resolve) => (halt = () => resolve("from before")));
  const life = living(
    await adopted(),
    scripted(() => () => slow),
  );
  await sent(life, say("hello"));
  await until(() => life.snapshot().thinking);
  await records.change("pip", (row) => ({
    row: {
      ...row,
      entry: entry({ mode: "local", intent: { to: "remote", step: "activate", operationId: "o", epoch: 3 } }),
    },
    value: null,
  }));
  const before = await stored();
  halt();
  await until(() => !life.snapshot().thinking);
  expect(await stored()).toEqual(before);
});

test("a life whose row another tab has written ends and says so", async () => {
  const onStale = vi.fn();
  const life = living(await adopted(), scripted(), { onStale });
  await sent(life, { kind: "care", action: "stroke" });
  await records.change("pip", (row) => ({
    row: { ...row, kept: { ...row.kept!, checkpoints: [{ ...newestOf(row)!, revision: 99 }] } },
    value: null,
  }));
  await expect(sent(life, { kind: "care", action: "stroke" })).rejects.toMatchObject({ code: "not_running" });
  expect(onStale).toHaveBeenCalledOnce();
  expect((await stored()).revision).toBe(99);
});

test("two executors of one pet never both commit the same revision", async () => {
  const row = await adopted();
  const [one, other] = [living(row, scripted()), living(row, scripted())];
  const outcomes = await Promise.allSettled([sent(one, say("from one")), sent(other, say("from the other"))]);
  expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  await until(async () => chatOf((await stored()).save).at(-1)?.who === "pet");
  expect(chatOf((await stored()).save).filter(({ who }) => who === "owner")).toHaveLength(1);
});

test("a pet from a host wakes on this page's clock: nothing of the time between is replayed", async () => {
  const row = await adopted();
  const remote = await engine.call("rehome", {
    state: JSON.stringify(newestOf(row)!.save),
    mode: "remote",
    timeZone: "UTC",
    brainId: "sprout-1",
    nowMs,
  });
  const save = JSON.parse(remote.state) as JsonObject;
  await records.change("pip", (one) => ({
    row: {
      ...one,
      kept: { v: 1, checkpoints: [{ atMs: nowMs, epoch: 4, revision: 9, save }] },
      entry: entry({ mode: "local", epoch: 4 }),
    },
    value: null,
  }));
  nowMs += 30 * DAY_MS;
  const script = scripted();
  const life = living(await records.row("pip"), script);
  await lived(life);
  const home = await nowOf();
  expect((home.hosting as JsonObject).mode).toBe("local");
  expect(clockOf(home)).toBe(minute(nowMs));
  expect(Number(home.minutesLived)).toBe(Number(save.minutesLived));
  expect(script.requests.length).toBeLessThanOrEqual(1);
});

test("a clock that was set back is taken for the time, and nothing is lost", async () => {
  const life = living(await adopted(), scripted());
  await sent(life, say("hello"));
  const before = await lived(life);
  nowMs -= 3 * DAY_MS;
  life.wake();
  await until(async () => clockOf((await stored()).save) <= nowMs);
  const after = await lived(life);
  expect(clockOf(after)).toBe(minute(nowMs));
  expect(chatOf(after)).toEqual(chatOf(before));
  expect(chatOf(after)).toHaveLength(2);
});

test("a failed generation says nothing, backs off and is tried again", async () => {
  const script = scripted((_, count) => (count === 1 ? new Error("worker gone") : "at last."));
  const told: { who: string | undefined; trouble: string | undefined }[] = [];
  const onChange = () => void told.push({ who: shownIn(life), trouble: life.snapshot().trouble?.code });
  const life: LocalLife = living(await adopted(), script, { onChange });
  await sent(life, say("hello"));
  await until(() => life.snapshot().trouble !== null);
  expect(life.snapshot().trouble).toEqual({ code: "Error", retryAtMs: nowMs + 30_000 });
  expect(chatOf((await stored()).save).at(-1)!.who).toBe("owner");
  life.wake();
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(script.requests).toHaveLength(1);
  nowMs += 30_000;
  life.wake();
  await until(() => shownIn(life) === "pet");
  expect(life.snapshot().trouble).toBeNull();
  expect(told, "a reply and its trouble's end are told together").not.toContainEqual({ who: "pet", trouble: "Error" });
});

test("an empty reply is proven by a second try and then ends without words", async () => {
  const script = scripted(() => "  ");
  const life = living(await adopted(), script);
  await sent(life, say("hello"));
  await until(() => life.snapshot().trouble?.code === "empty");
  nowMs += 30_000;
  life.wake();
  await until(() => script.requests.length === 2);
  await until(async () => (await stored()).save.asked === undefined || (await stored()).save.asked === null);
  expect(chatOf((await stored()).save).every(({ who }) => who === "owner")).toBe(true);
});

test("without a brain the pet waits for its words, is cared for all the same, and no turn is given up", async () => {
  let loads = 0;
  const life = living(await adopted(), scripted(), {
    brain: () => Promise.reject(new Error(`offline ${(loads += 1)}`)),
  });
  await sent(life, say("hello"));
  for (let tries = 1; tries <= 10; tries += 1) {
    await until(() => loads === tries);
    await until(() => life.snapshot().trouble?.retryAtMs !== undefined && !life.snapshot().thinking);
    nowMs += 30 * MINUTE_MS;
    life.wake();
  }
  expect(life.snapshot().trouble!.code).toBe("no_brain");
  await sent(life, { kind: "care", action: "stroke" });
  expect((await stored()).save.asked).toMatchObject({ cue: expect.any(String) });
});

test("the engine's refusal of a command comes back with its path and changes nothing", async () => {
  const life = living(await adopted(), scripted());
  await sent(life, say("hello"));
  await life.stop();
  const other = living(
    await records.row("pip"),
    scripted(() => () => new Promise(() => undefined)),
  );
  const before = await stored();
  await expect(sent(other, { kind: "care", action: "tickle" })).rejects.toMatchObject({
    code: "unknown_value",
    fields: { path: "/action" },
  });
  await expect(sent(other, { kind: "game", gameId: "g0", score: 3 })).rejects.toBeInstanceOf(HomeProblem);
  expect((await stored()).revision).toBe(before.revision);
});

test("a disk that is full is told, nothing unstored is shown, and life goes on when there is room", async () => {
  const life = living(await adopted(), scripted());
  await sent(life, { kind: "care", action: "stroke" });
  const shown = life.snapshot().save;
  const full = vi.spyOn(records, "change").mockRejectedValue(new HomeProblem("storage_full"));
  await expect(sent(life, say("hello"))).rejects.toMatchObject({ code: "storage_full" });
  expect(life.snapshot().save).toEqual(shown);
  full.mockRestore();
  await sent(life, say("hello"));
  expect(chatOf((await stored()).save).map(({ text }) => text)).toContain("hello");
});

test("a save that the engine refuses stops that pet with the field that is wrong, and keeps it", async () => {
  const row = await adopted("pip", (one) => ({
    ...one,
    kept: { v: 1, checkpoints: [{ ...newestOf(one)!, save: { v: 2, name: "Nobody" } }] },
  }));
  const life = living(row, scripted());
  life.wake();
  await until(() => life.snapshot().error !== null);
  expect(life.snapshot().error).toMatch(/^SaveRefused \w+ \//);
  expect((await stored()).save).toEqual({ v: 2, name: "Nobody" });
  await expect(sent(life, say("hello"))).rejects.toMatchObject({ code: "quarantined" });
});

test("a site with another brain goes on with it, told in the pet's own events, at the pet's own time", async () => {
  const first = living(await adopted(), scripted());
  await sent(first, say("hello"));
  await lived(first);
  await first.stop();
  const life = living(await records.row("pip"), scripted(), { brainId: "sprout-2" });
  const before = (await stored()).save;
  life.wake();
  await until(async () => ((await stored()).save.hosting as JsonObject).brainId === "sprout-2");
  const { save } = await stored();
  expect(clockOf(save)).toBe(clockOf(before));
  expect((save.events as JsonObject[]).map(({ kind }) => kind)).toContain("new_brain");
});

test("a pet that is only preparing lives on; the stored activation stops it in the same transaction", async () => {
  const row = await adopted("pip", (one) => intents.moveOut(one, HOST, countingIds()));
  const life = living(row, scripted());
  await sent(life, { kind: "care", action: "stroke" });
  const activate = intents.intentTo("activate", 1, countingIds());
  await records.change("pip", (one) => ({ row: { ...one, entry: { ...one.entry!, intent: activate } }, value: null }));
  await expect(sent(life, { kind: "care", action: "stroke" })).rejects.toMatchObject({ code: "not_running" });
});

test("a failed turn does not wait for a clock that was set back", async () => {
  const script = scripted((_, count) => (count === 1 ? new Error("worker gone") : "still here."));
  const life = living(await adopted(), script);
  await sent(life, say("hello"));
  await until(() => life.snapshot().trouble !== null);
  nowMs -= 3 * DAY_MS;
  life.wake();
  await until(async () => chatOf((await stored()).save).at(-1)!.who === "pet");
});

test.each([1000, 0, 8_000_000_000_000])("a clock that says %d is told, and the pet goes on when it is set", async (wrongMs) => {
  const life = living(await adopted(), scripted());
  const rightMs = nowMs;
  nowMs = wrongMs;
  life.wake();
  await until(() => life.snapshot().trouble !== null || life.snapshot().error !== null);
  expect(life.snapshot()).toMatchObject({ error: null, trouble: { code: "clock_wrong" } });
  await expect(sent(life, say("hello"))).rejects.toMatchObject({ code: "clock_wrong" });
  nowMs = rightMs;
  await sent(life, say("hello again"));
  await until(() => shownIn(life) === "pet");
  expect(life.snapshot()).toMatchObject({ error: null, trouble: null });
});

test.each([0, HOUR_MS])("a trouble that has passed is told of no more, due or not: %d ms later", async (ms) => {
  const script = scripted();
  const before = living(await adopted(), script);
  await lived(before);
  await before.stop();
  const told: (string | undefined)[] = [];
  const onChange = () => void told.push(life.snapshot().trouble?.code);
  let loads = false;
  const start = () => (loads ? Promise.resolve(engine) : Promise.reject(new Error("offline")));
  const life: LocalLife = living(await records.row("pip"), script, { onChange, engine: start });
  life.wake();
  await until(() => told.at(-1) === "no_engine");
  loads = true;
  nowMs += ms;
  life.retry();
  await until(() => life.snapshot().running && told.at(-1) === undefined);
  expect(life.snapshot().trouble).toBeNull();
});

test("back-off doubles from half a minute to half an hour", () => {
  expect([1, 2, 3, 6, 7, 8, 100].map(backOffMs)).toEqual([
    30_000, 60_000, 120_000, 960_000, 1_800_000, 1_800_000, 1_800_000,
  ]);
});
