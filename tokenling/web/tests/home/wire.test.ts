import { afterEach, describe, expect, test, vi } from "vitest";

import type { MoveRequest } from "../../src/home/conclusions.ts";
import { HostRefusal, HostSilent } from "../../src/home/problems.ts";
import * as wire from "../../src/home/wire.ts";
import { connection, HOST, KEY, PET_ID, saveOf } from "./fixtures.ts";

/* `fetch` is the border: what a network may bring is a table. */

afterEach(() => {
  vi.unstubAllGlobals();
});

const PROBLEM = { "Content-Type": "application/problem+json" };
const JSON_TYPE = { "Content-Type": "application/json" };
const park: MoveRequest = { kind: "transfer", to: "local", operationId: "op", epoch: 3 };
const activate: MoveRequest = {
  kind: "transfer",
  to: "remote",
  operationId: "op",
  epoch: 3,
  save: saveOf("up"),
  takeover: true,
};
const record = {
  operationId: "op",
  id: PET_ID,
  status: "parked",
  epoch: 4,
  revision: 9,
  destinationDeviceId: "device",
  save: saveOf("home"),
};

function brings(status: number, body: unknown, headers: Record<string, string> = status < 400 ? JSON_TYPE : PROBLEM) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const fetched = vi.fn(
    async (_url: string, _options: RequestInit) =>
      new Response(status === 204 || status === 304 ? null : text, { status, headers }),
  );
  vi.stubGlobal("fetch", fetched);
  return fetched;
}

describe("silence, after which the same operation id is repeated", () => {
  test.each([
    ["a request that breaks off", () => vi.stubGlobal("fetch", () => Promise.reject(new TypeError("failed")))],
    ["half an answer", () => brings(200, '{"epoch": 4')],
    ["a login page of a hotel", () => brings(200, "<html>welcome</html>", { "Content-Type": "text/html" })],
    ["another service's success", () => brings(200, { ok: true })],
    ["a broken epoch, which would be stored and sent back", () => brings(200, { ...record, epoch: 4.5 })],
    ["an epoch beyond all counting", () => brings(200, { ...record, epoch: 1e300 })],
    ["a list", () => brings(200, [record])],
    ["a proxy's own 404", () => brings(404, "<html>not found</html>", { "Content-Type": "text/html" })],
    ["another service's refusal", () => brings(404, { code: "not_found" }, JSON_TYPE)],
    ["a refusal without a code", () => brings(409, { detail: "no" })],
    ["a host that is stopping", () => brings(503, { code: "draining" })],
    ["a fault of the host's own", () => brings(500, { code: "internal" })],
    ["a host that took too long", () => brings(408, { code: "body_timeout" })],
    ["a host that is asked too often", () => brings(429, { code: "too_many_requests" })],
  ])("is %s", async (_, arrange) => {
    arrange();
    const error = await wire.moved(connection(), "device", park).catch((problem: unknown) => problem);
    expect(error).toBeInstanceOf(HostSilent);
    expect((error as HostSilent).lost).toBe(true);
  });

  test("is an answer without an end, which is not waited for", async () => {
    const part = new TextEncoder().encode(" ".repeat(1024 * 1024));
    let parts = 0;
    const endless = new ReadableStream({ pull: (stream) => void ((parts += 1), stream.enqueue(part)) });
    vi.stubGlobal("fetch", () => Promise.resolve(new Response(endless, { headers: JSON_TYPE })));
    await expect(wire.moved(connection(), "device", park)).rejects.toBeInstanceOf(HostSilent);
    expect(parts).toBeLessThanOrEqual(20);
  });

  test("keeps the pause that a host asks for, within a minute", async () => {
    for (const [header, ms] of [
      ["7", 7000],
      ["99999", 60_000],
      ["soon", null],
    ] as const) {
      brings(503, { code: "overloaded" }, { ...PROBLEM, "Retry-After": header });
      const error = await wire.moved(connection(), "device", park).catch((problem: HostSilent) => problem);
      expect((error as HostSilent).retryAfterMs).toBe(ms);
    }
  });
});

describe("a definite answer", () => {
  test.each([
    [401, "unauthorized"],
    [403, "enrol_wrong"],
    [404, "not_found"],
    [409, "stale_epoch"],
    [410, "pet_deleted"],
    [422, "invalid_save"],
  ])("may be a refusal: %d %s", async (status, code) => {
    brings(status, { type: "about:blank", title: "t", status, code, detail: "d", epoch: 5, petStatus: "active" });
    expect(await wire.moved(connection(), "device", park)).toMatchObject({
      status,
      code,
      epoch: 5,
      petStatus: "active",
      save: null,
    });
  });

  test.each([[{}], [[]], [{ name: 7 }], ["save"]])("brings no save that is not one: %j", async (save) => {
    brings(200, { ...record, save });
    expect((await wire.moved(connection(), "device", park)).save).toBeNull();
  });

  test.each([
    ["an empty save", { save: {} }],
    ["a list as the save", { save: [] }],
    ["no effects", { effects: null }],
    ["a time behind all calendars", { serverTime: 1e300 }],
    ["a broken revision", { revision: 1.5 }],
    ["another pet", { id: "22222222-2222-4222-8222-222222222222" }],
  ])("of a view that cannot be one is silence, so it replaces no copy: %s", async (_, change) => {
    const view = { ...record, status: "active", effects: [], game: null, thinking: false, error: null, serverTime: 1, ...change };
    brings(200, view);
    await expect(wire.view(connection())).rejects.toBeInstanceOf(HostSilent);
    brings(200, { ...view, id: PET_ID, save: saveOf("a"), effects: [], serverTime: 1, revision: 9 });
    expect((await wire.view(connection()))?.view.save).toEqual(saveOf("a"));
  });

  test("brings the parked save", async () => {
    brings(200, record);
    expect(await wire.moved(connection(), "device", park)).toMatchObject({
      status: 200,
      epoch: 4,
      revision: 9,
      petStatus: "parked",
      save: saveOf("home"),
    });
  });

  test("of a deletion has no body", async () => {
    brings(204, "");
    expect((await wire.moved(connection(), "device", { kind: "delete", key: KEY })).status).toBe(204);
  });

  test("to a wish that is a refusal is thrown", async () => {
    brings(422, { code: "invalid_command", path: "/text" });
    const wish = { host: HOST, id: PET_ID, epoch: 3, operationId: "op", command: { kind: "say", text: "" } };
    await expect(wire.wish(connection(), wish)).rejects.toMatchObject({
      code: "invalid_command",
      fields: { path: "/text" },
    });
    await expect(wire.wish(connection(), wish)).rejects.toBeInstanceOf(HostRefusal);
  });
});

describe("a request", () => {
  test("carries the key in its header alone, and no cookie", async () => {
    const fetched = brings(200, record);
    await wire.moved(connection(), "device", activate);
    const [url, options] = fetched.mock.calls[0]!;
    expect(url).toBe(`${HOST}/api/pets/${PET_ID}/transfer`);
    expect(options).toMatchObject({
      method: "POST",
      credentials: "omit",
      cache: "no-store",
      redirect: "error",
      headers: { Authorization: `Bearer ${KEY}` },
    });
    expect(`${url}${String(options.body)}`).not.toContain(KEY);
  });

  test("is the same body each time", async () => {
    const fetched = brings(503, { code: "draining" });
    for (let times = 0; times < 2; times += 1)
      await wire.moved(connection(), "device", activate).catch(() => undefined);
    expect(fetched.mock.calls[0]![1].body).toBe(fetched.mock.calls[1]![1].body);
    expect(JSON.parse(String(fetched.mock.calls[0]![1].body))).toEqual({
      to: "remote",
      operationId: "op",
      epoch: 3,
      deviceId: "device",
      save: saveOf("up"),
      takeover: true,
    });
  });

  test("of a new key sends the hash of its decoded bytes", async () => {
    const fetched = brings(200, { operationId: "op", epoch: 3, revision: 9 });
    await wire.moved(connection(), "device", { kind: "key", operationId: "op", epoch: 3, newKey: KEY });
    // SHA-256 of the bytes 0 to 31
    expect(JSON.parse(String(fetched.mock.calls[0]![1].body)).newKeyHash).toBe(
      "630dcd2966c4336691125448bbb25b4ff412a49c732db2c8abc1b8581bd710dd",
    );
  });

  test("of a view waits only beside a tag, and takes an unchanged answer", async () => {
    const fetched = brings(304, "");
    expect(await wire.view(connection(), { etag: '"tag"', wait: true })).toBeNull();
    expect(fetched.mock.calls[0]![0]).toBe(`${HOST}/api/pets/${PET_ID}?wait=50`);
    expect(fetched.mock.calls[0]![1].headers).toMatchObject({ "If-None-Match": '"tag"' });
  });
});

test("a host's health is read whether it is ready or not, and another protocol is refused", async () => {
  const health = { protocol: 1, engine: 3, release: "sprout-1", features: ["x", 7], ready: true };
  brings(200, health);
  expect(await wire.health(HOST)).toEqual({
    origin: HOST,
    engine: 3,
    release: "sprout-1",
    features: ["x"],
    ready: true,
  });
  brings(503, { ...health, ready: false, reasons: ["draining"] });
  expect(await wire.health(HOST)).toMatchObject({ ready: false });
  brings(200, { ...health, protocol: 2 });
  await expect(wire.health(HOST)).rejects.toMatchObject({ code: "other_protocol" });
  brings(200, { hello: "world" });
  await expect(wire.health(HOST)).rejects.toMatchObject({ code: "other_protocol" });
});
