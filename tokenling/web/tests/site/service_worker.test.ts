import { afterEach, beforeEach, expect, test, vi } from "vitest";

/* The worker as the browser runs it: `self`, the caches and the network are the border. */

const ROOT = "https://pets.example/";
const SITE = `${ROOT}app/site.json`;
const GOOD = JSON.stringify({ v: 1, build: "b1" });

let handlers: Record<string, (event: unknown) => void>;
let kept: Map<string, Response>;

beforeEach(async () => {
  handlers = {};
  kept = new Map([[SITE, new Response(GOOD)]]);
  const cache = { put: async (address: string, answer: Response) => void kept.set(address, answer) };
  const caches = { open: async () => cache, match: async (address: string) => kept.get(address)?.clone() };
  vi.stubGlobal("self", {
    location: { href: `${ROOT}service-worker.js` },
    addEventListener: (name: string, handler: (event: unknown) => void) => (handlers[name] = handler),
  });
  vi.stubGlobal("caches", caches);
  vi.stubGlobal("BUILD", "b1");
  vi.stubGlobal("FILES", []);
  vi.resetModules();
  // @ts-expect-error it is a script: a service worker exports nothing
  await import("../../src/site/service-worker.ts");
});

afterEach(() => {
  vi.unstubAllGlobals();
});

function answered(request: Request): Promise<Response> {
  return new Promise((resolve) => {
    const respondWith = (answer: Promise<Response>) => void answer.then(resolve);
    handlers.fetch!({ request, respondWith, waitUntil: () => {} });
  });
}

test.each([
  ["a page to log in", "<html>log in</html>", 200],
  ["a half of it", GOOD.slice(0, 10), 200],
  ["another service's answer", '{"ok": true}', 200],
  ["nothing", "null", 200],
  ["a fault", "oops", 502],
])("%s in the place of the manifest is neither shown nor kept", async (_, body, status) => {
  vi.stubGlobal("fetch", async () => new Response(body, { status }));
  expect(await (await answered(new Request(SITE))).text()).toBe(GOOD);
  expect(await kept.get(SITE)!.clone().text()).toBe(GOOD);
});

test("a newer manifest is shown and kept", async () => {
  const newer = JSON.stringify({ v: 1, build: "b2" });
  vi.stubGlobal("fetch", async () => new Response(newer));
  expect(await (await answered(new Request(SITE))).text()).toBe(newer);
  expect(await kept.get(SITE)!.clone().text()).toBe(newer);
});
