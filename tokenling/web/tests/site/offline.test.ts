/* When a page begins to keep itself for the time without a network. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { keepOffline } from "../../src/site/offline.ts";
import type { Site } from "../../src/site/site.ts";

const ROOT = "https://pets.example/";
const SITE = { root: ROOT, build: "0a", brain: null } as unknown as Site;

let registered: string[];

beforeEach(() => {
  vi.useFakeTimers();
  registered = [];
  const registration = Object.assign(new EventTarget(), { active: new EventTarget(), installing: null, waiting: null });
  const serviceWorker = Object.assign(new EventTarget(), {
    controller: null,
    register: (address: string) => (registered.push(address), Promise.resolve(registration)),
  });
  vi.stubGlobal("navigator", { serviceWorker });
  vi.stubGlobal("location", new URL(ROOT));
});

afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("nothing is kept beside the start: every file of the app would come twice at once", async () => {
  let started = () => undefined as void;
  const offline = keepOffline(SITE, undefined, new Promise((resolve) => (started = () => resolve(undefined))));
  await vi.advanceTimersByTimeAsync(10_000);
  expect(registered).toEqual([]);
  started();
  await vi.advanceTimersByTimeAsync(500);
  expect([registered, offline.state()]).toEqual([[], "fetching"]);
  await vi.advanceTimersByTimeAsync(2000);
  expect([registered, offline.state()]).toEqual([[`${ROOT}service-worker.js`], "ready"]);
});

test("a start that hangs does not keep it waiting for ever: a newer build must be found", async () => {
  keepOffline(SITE, undefined, new Promise(() => undefined));
  await vi.advanceTimersByTimeAsync(29_000);
  expect(registered).toEqual([]);
  await vi.advanceTimersByTimeAsync(2000);
  expect(registered).toEqual([`${ROOT}service-worker.js`]);
});

test("a start that fails is over, too", async () => {
  keepOffline(SITE, undefined, Promise.allSettled([Promise.reject(new Error("no engine"))]));
  await vi.advanceTimersByTimeAsync(2500);
  expect(registered).toEqual([`${ROOT}service-worker.js`]);
});
