/* Keeps the app for the time without a network, and tells when a newer build lies ready. */

import { addressOf, type Site } from "./site.ts";
import { trusted } from "./trusted.ts";

export type OfflineState = "unsupported" | "fetching" | "ready" | "update_ready" | "failed";

export interface Offline {
  state(): OfflineState;
  subscribe(listener: (state: OfflineState) => void): () => void;
  /** Makes the newer build take over; the page reloads by itself when it has. */
  update(): void;
}

/** A start that hangs must not keep an older build's page from hearing of a newer one. A guess. */
const START_MS_MAX = 30_000;
/** After the start: the egg that is born and the first words go before. A guess. */
const FIRST_MS = 2000;

/** Registers the service worker of the site, a little after `begun` has settled: it fetches every file of the app, and
    beside the start itself that cost a first visit a fifth of its time. Never rejects: an app that cannot be kept still
    works while online.
    `replaced` is called when another build takes this page over that the owner chose in another tab: this build's files
    are kept no longer, and it must not go on beside the newer one. */
export function keepOffline(
  site: Site,
  replaced: () => void = () => undefined,
  begun: Promise<unknown> = Promise.resolve(),
): Offline {
  const listeners = new Set<(state: OfflineState) => void>();
  let state: OfflineState = "fetching";
  let waiting: ServiceWorker | null = null;
  const set = (next: OfflineState) => {
    state = next;
    for (const listener of listeners) listener(next);
  };
  const container = "serviceWorker" in navigator ? navigator.serviceWorker : null;
  let asked = false;
  if (container) watchBuild(container, site.build, () => !asked && replaced());
  if (container) {
    const after = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
    const found = (worker: ServiceWorker) => {
      waiting = worker;
      set("update_ready");
    };
    Promise.race([begun.then(() => after(FIRST_MS)), after(START_MS_MAX)])
      .then(() => register(container, site, found))
      .then(
        () => waiting === null && set("ready"),
        () => set("failed"),
      );
  } else state = "unsupported";
  return {
    state: () => state,
    subscribe(listener) {
      listeners.add(listener);
      listener(state);
      return () => listeners.delete(listener);
    },
    update() {
      asked = true;
      container?.addEventListener("controllerchange", () => location.reload(), { once: true });
      waiting?.postMessage("take over");
    },
  };
}

/** Asks each worker that takes over which build it is of. */
function watchBuild(container: ServiceWorkerContainer, build: string, replaced: () => void): void {
  container.addEventListener("controllerchange", () => container.controller?.postMessage("which build"));
  container.addEventListener("message", ({ data }: MessageEvent<{ build?: unknown } | null>) => {
    if (typeof data?.build === "string" && data.build !== build) replaced();
  });
}

async function register(container: ServiceWorkerContainer, site: Site, found: (worker: ServiceWorker) => void) {
  const registration = await container.register(trusted(addressOf(site, "service-worker.js")), { scope: site.root });
  const watch = (worker: ServiceWorker | null) => {
    worker?.addEventListener("statechange", () => {
      if (worker.state === "installed" && container.controller && registration.waiting === worker) found(worker);
    });
  };
  if (registration.waiting && container.controller) found(registration.waiting);
  watch(registration.installing);
  registration.addEventListener("updatefound", () => watch(registration.installing));
  const active = await activeOf(registration);
  await keepBrain(container, active, site);
}

/** The worker once it is active; rejects when its installation failed. */
function activeOf(registration: ServiceWorkerRegistration): Promise<ServiceWorker> {
  const worker = registration.active ?? registration.installing ?? registration.waiting;
  return new Promise((resolve, reject) => {
    const look = () => {
      if (registration.active) resolve(registration.active);
      else if (!worker || worker.state === "redundant") reject(new Error("the service worker was not installed"));
    };
    worker?.addEventListener("statechange", look);
    look();
  });
}

/** Resolves when the site's brain is kept whole; a site without one has nothing to keep. */
function keepBrain(container: ServiceWorkerContainer, active: ServiceWorker, site: Site): Promise<void> {
  const { brain } = site;
  if (!brain) return Promise.resolve();
  return new Promise((resolve, reject) => {
    const heard = ({ data }: MessageEvent) => {
      if (data !== "brain kept" && data !== "brain not kept") return;
      container.removeEventListener("message", heard);
      if (data === "brain kept") resolve();
      else reject(new Error("the brain could not be kept"));
    };
    container.addEventListener("message", heard);
    container.startMessages();
    const files = Object.keys(brain.files).map((name) => addressOf(site, `${brain.base}${name}`));
    active.postMessage({ keepBrain: true, files });
  });
}
