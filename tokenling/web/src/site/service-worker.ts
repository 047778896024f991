/* Serves the whole app when nothing else does: after the first visit it needs neither host nor network.

   - The app's files carry their content's hash or their version in the name: from the cache first, for ever.
   - `./` and `app/site.json` say which build and which brain: from the network first, from the cache when that is
     silent for two seconds.
   - The brain's files: from the cache first; an id never changes its bytes. The two newest brains are kept.
   - `api/` and everything else is none of this worker's business.

   A new build waits until the page says `take over` (the owner sees that there is one), or until no page is open. */

declare const BUILD: string;
declare const FILES: string[];

const worker = self as unknown as ServiceWorkerGlobalScope;
const APP_CACHE = `tokenling-app-${BUILD}`;
const BRAIN_CACHE = "tokenling-brain";
const BRAINS_KEPT = 2;
const NETWORK_WAIT_MS = 2000;
const CHANGING = ["", "app/site.json"];
const root = new URL("./", worker.location.href).href;

worker.addEventListener("install", (event) => event.waitUntil(install()));
worker.addEventListener("activate", (event) => event.waitUntil(activate()));
worker.addEventListener("fetch", (event) => {
  const found = answerFor(event.request, event);
  if (found) event.respondWith(found);
});
worker.addEventListener("message", (event) => {
  const asked: unknown = event.data;
  if (asked === "take over") void worker.skipWaiting();
  if (asked === "which build") event.source?.postMessage({ build: BUILD });
  if (!isKeepBrain(asked)) return;
  const tell = (outcome: string) => event.source?.postMessage(outcome);
  event.waitUntil(keepBrain(asked.files).then(() => tell("brain kept"), () => tell("brain not kept")));
});

async function install(): Promise<void> {
  const cache = await caches.open(APP_CACHE);
  const missing: string[] = [];
  for (const path of FILES) {
    const carried = await caches.match(new URL(path, root).href); // an older build had the same bytes
    if (carried) await cache.put(new URL(path, root).href, carried);
    else missing.push(path);
  }
  await cache.addAll(missing.map((path) => new Request(new URL(path, root).href)));
  await cache.addAll(CHANGING.map((path) => new Request(new URL(path, root).href, { cache: "no-cache" })));
}

async function activate(): Promise<void> {
  for (const name of await caches.keys()) {
    if (name.startsWith("tokenling-app-") && name !== APP_CACHE) await caches.delete(name);
  }
  await worker.clients.claim();
}

function answerFor(request: Request, event: FetchEvent): Promise<Response> | null {
  if (request.method !== "GET" || !request.url.startsWith(root)) return null;
  const path = new URL(request.url).pathname.slice(new URL(root).pathname.length);
  if (CHANGING.includes(path)) return networkFirst(request, event);
  if (path.startsWith("app/")) return cacheFirst(request, APP_CACHE);
  if (path.startsWith("brain/")) return cacheFirst(request, BRAIN_CACHE);
  return null;
}

async function cacheFirst(request: Request, cacheName: string): Promise<Response> {
  // whoever asks for a reload found the kept copy spoilt
  const kept = request.cache === "reload" ? undefined : await caches.match(request.url);
  if (kept) return kept;
  const fresh = await fetch(request);
  if (fresh.ok && cacheName === BRAIN_CACHE) await remember(cacheName, request.url, fresh.clone());
  return fresh;
}

async function networkFirst(request: Request, event: FetchEvent): Promise<Response> {
  const address = new URL(request.url);
  address.search = "";
  const kept = await caches.match(address.href, { cacheName: APP_CACHE });
  const asked = fetch(request).then(async (fresh) => {
    // another build's index would name files that this build's cache lacks: it comes with its own worker
    const good = fresh.ok && (address.href === root || (await isManifest(fresh.clone())));
    if (good && address.href !== root) await remember(APP_CACHE, address.href, fresh.clone());
    return good || !kept ? fresh : kept;
  });
  if (!kept) return asked;
  event.waitUntil(asked.catch(() => undefined));
  const late = new Promise<Response>((resolve) => setTimeout(() => resolve(kept.clone()), NETWORK_WAIT_MS));
  return Promise.race([asked.catch(() => kept), late]);
}

/** A page to log in, or one that says to come back later, may stand in its place, and would stay for the days offline. */
async function isManifest(answer: Response): Promise<boolean> {
  try {
    const found = (await answer.json()) as { build?: unknown } | null;
    return typeof found?.build === "string";
  } catch {
    return false;
  }
}

/** A full disk must not cost the page its answer. */
async function remember(cacheName: string, address: string, answer: Response): Promise<void> {
  try {
    await (await caches.open(cacheName)).put(address, answer);
  } catch {
    // the next visit asks the network again
  }
}

function isKeepBrain(value: unknown): value is { keepBrain: true; files: string[] } {
  const asked = value as { keepBrain?: unknown; files?: unknown } | null;
  return asked?.keepBrain === true && Array.isArray(asked.files);
}

/** Keeps a brain's files whole, and no more than the two newest brains. */
async function keepBrain(files: string[]): Promise<void> {
  const cache = await caches.open(BRAIN_CACHE);
  const wanted = files.filter((file) => file.startsWith(`${root}brain/`));
  for (const file of wanted) if (!(await cache.match(file))) await cache.add(file);
  const brainOf = (address: string) => address.slice(`${root}brain/`.length).split("/")[0];
  const kept = await cache.keys();
  const brains = [...new Set(kept.map((request) => brainOf(request.url)))];
  const current = wanted[0] ? brainOf(wanted[0]) : undefined;
  const dropped = brains.filter((brain) => brain !== current).slice(0, -(BRAINS_KEPT - 1) || undefined);
  for (const request of kept) if (dropped.includes(brainOf(request.url))) await cache.delete(request);
}
