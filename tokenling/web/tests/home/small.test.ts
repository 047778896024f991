import { afterAll, describe, expect, test, vi } from "vitest";

import { Lane, nextOf, PROMOTE_AFTER_MS } from "../../src/home/lane.ts";
import { Once } from "../../src/home/once.ts";
import { Rest } from "../../src/home/pause.ts";
import { Serial } from "../../src/home/serial.ts";
import { hostTurns, turnSeed } from "../../src/home/turn_links.ts";
import { isPrivate, originOf } from "../../src/home/wire.ts";
import * as files from "../../src/home/files.ts";
import { nativeEngine } from "./native_engine.ts";
import { NOW_MS } from "./fixtures.ts";

describe("the lane", () => {
  const at = (kind: "reactive" | "idle" | "diary", sinceMs: number) => ({ kind, sinceMs });

  test.each([
    ["an owner's words before all else", [at("idle", 0), at("diary", 0), at("reactive", 9)], 10, 2],
    ["first come, first served", [at("idle", 0), at("diary", 1)], 10, 0],
    ["what has waited half a minute before new words", [at("reactive", 29_999), at("idle", 0)], PROMOTE_AFTER_MS, 1],
  ])("takes %s", (_, waiting, nowMs, next) => {
    expect(nextOf(waiting, nowMs)).toBe(next);
  });

  test("runs one at a time, drops what is no longer wanted, and survives a failure", async () => {
    const lane = new Lane(() => 0);
    const done: string[] = [];
    let finish = () => {};
    const first = lane.run(
      "idle",
      new AbortController().signal,
      () => new Promise<void>((resolve) => (finish = resolve)),
    );
    const unwanted = new AbortController();
    const dropped = lane.run("idle", unwanted.signal, async () => void done.push("dropped"));
    const failed = lane.run("idle", new AbortController().signal, () => Promise.reject(new Error("fails")));
    const last = lane.run("reactive", new AbortController().signal, async () => void done.push("last"));
    unwanted.abort();
    await expect(dropped).rejects.toMatchObject({ name: "AbortError" });
    expect(done).toEqual([]);
    finish();
    await Promise.all([first, last, expect(failed).rejects.toThrow("fails")]);
    expect(done).toEqual(["last"]);
  });
});

test("a rest ends after its time, when it is ended, and when the clock was set back behind its beginning", () => {
  const rest = new Rest();
  expect(rest.leftMs(NOW_MS)).toBe(0);
  rest.begin(NOW_MS, 1000);
  expect([0, 1, 999, 1000, 5000].map((later) => rest.leftMs(NOW_MS + later))).toEqual([1000, 999, 1, 0, 0]);
  expect(rest.leftMs(NOW_MS - 1)).toBe(0);
  rest.end();
  expect(rest.leftMs(NOW_MS)).toBe(0);
});

test("serial work keeps its order through a failure", async () => {
  const serial = new Serial();
  const done: number[] = [];
  const failed = serial.run(() => Promise.reject(new Error("fails")));
  const second = serial.run(async () => void done.push(2));
  await expect(failed).rejects.toThrow("fails");
  await Promise.all([second, serial.run(async () => void done.push(3))]);
  expect(done).toEqual([2, 3]);
});

test("what is loaded once is asked for once, and again after a failure and a pause", async () => {
  vi.useFakeTimers();
  const load = vi.fn().mockRejectedValueOnce(new Error("offline")).mockResolvedValue("here");
  const once = new Once(load);
  await Promise.all([expect(once.get()).rejects.toThrow(), expect(once.get()).rejects.toThrow()]);
  await vi.advanceTimersByTimeAsync(2000);
  expect([await once.get(), await once.get(), load.mock.calls.length]).toEqual(["here", "here", 2]);
  vi.useRealTimers();
});

describe("addresses", () => {
  test.each([
    ["alder.example", "https://alder.example"],
    ["https://alder.example:8443/path?query", "https://alder.example:8443"],
    ["http://127.0.0.1:8460", "http://127.0.0.1:8460"],
    [" http://localhost:1 ", "http://localhost:1"],
    ["http://[::1]:9", "http://[::1]:9"],
  ])("%s is %s", (typed, origin) => {
    expect(originOf(typed)).toBe(origin);
  });

  test.each([
    ["http://alder.example", "plain_http"],
    ["http://127.0.0.1.evil.example", "plain_http"],
    ["http://10.0.0.1", "plain_http"],
    ["ftp://alder.example", "host_address"],
    ["https://user@alder.example", "host_address"],
    ["", "host_address"],
    ["javascript:alert(1)", "host_address"],
  ])("%s is refused", (typed, code) => {
    expect(() => originOf(typed)).toThrowError(expect.objectContaining({ code }));
  });

  test("a key travels by https, or within this machine", () => {
    const at = (url: string) => isPrivate(new URL(url));
    expect([
      at("https://x.example"),
      at("http://127.9.9.9"),
      at("http://localhost"),
      at("http://x.example"),
      at("http://1270.0.0.1.example"),
    ]).toEqual([true, true, true, false, false]);
  });
});

describe("with the real engine", () => {
  const engine = nativeEngine();
  afterAll(() => engine.stop());
  const facts = { name: "Pip", petSeed: "seed", timeZone: "UTC", brainId: "sprout-1", nowMs: NOW_MS };

  test("a turn's seed is the engine's own draw, so a host's receipt finds its line", async () => {
    let { state } = await engine.call("new_pet", { ...facts, weatherSeed: "" });
    const step = await engine.call("apply_command", { state, command: { kind: "say", text: "hello" }, nowMs: NOW_MS });
    expect(await turnSeed("seed", step.turn!.id)).toBe(step.turn!.seed);
    ({ state } = await engine.call("apply_reply", {
      state: step.state,
      turn: step.turn!,
      reply: { text: "hi.", stop: "eos" },
    }));
    const receipts = [{ seed: 7 }, { seed: step.turn!.seed }];
    const [found, unknown] = await hostTurns(receipts, JSON.parse(state));
    expect(found).toEqual({
      turnId: step.turn!.id,
      kind: "reactive",
      atMs: step.turn!.atMs,
      receipt: receipts[1],
      choices: null,
    });
    expect(unknown).toMatchObject({ turnId: null, kind: null, atMs: null });
    expect(receipts[0]).toEqual({ seed: 7 });
  });

  test("a file is the save alone, and comes back byte for byte", async () => {
    const save = await files.newborn(engine, facts);
    const { fileName, text } = files.exported(save, NOW_MS);
    expect(fileName).toBe("Pip-2026-06-01.tokenling.json");
    expect(await files.imported(engine, text)).toEqual(save);
    expect(await files.imported(engine, `\uFEFF${text}`)).toEqual(save);
  });

  test("a zone that the engine does not know becomes UTC", async () => {
    const save = await files.newborn(engine, { ...facts, timeZone: "Mars/Olympus" });
    expect(save.hosting).toMatchObject({ timeZone: "UTC" });
    await expect(files.newborn(engine, { ...facts, name: "" })).rejects.toMatchObject({ fields: { path: "/name" } });
  });

  test.each([
    ["nothing", "", "SaveRefused"],
    ["half a file", '{"v":2', "SaveRefused"],
    ["a list", "[]", "SaveRefused"],
    ["another thing", '{"v":2,"name":"Nobody"}', "SaveRefused"],
  ])("%s is refused by the engine, with code and path", async (_, text, error) => {
    await expect(files.imported(engine, text)).rejects.toMatchObject({ name: "FileRefused", fields: { error } });
  });

  test("a file larger than any pet is not read", async () => {
    engine.calls.length = 0;
    await expect(files.imported(engine, "x".repeat(files.SAVE_BYTES_MAX + 1))).rejects.toMatchObject({
      code: "file_size",
    });
    expect(engine.calls).toEqual([]);
  });
});
