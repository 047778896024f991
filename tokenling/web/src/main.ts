/* The page: what it is made of is opened and put together here, and nowhere else. */

import { openBrain } from "./brain/client.ts";
import type { Brain, Engine, Progress } from "./contract.ts";
import { openEngine } from "./engine/client.ts";
import { openHousehold } from "./home/household.ts";
import "./room/scene/scene.css";
import "./room/app.css";
import { Loading } from "./room/loading.ts";
import { refuse } from "./room/refused.ts";
import { startRoom } from "./room/start.ts";
import { loadFault, startFault } from "./site/faults.ts";
import { mark } from "./site/marks.ts";
import { keepOffline } from "./site/offline.ts";
import { openSite, type Site } from "./site/site.ts";

const page = document.getElementById("page") as HTMLElement;
const live = document.getElementById("live") as HTMLElement;

/** One attempt at a time, kept once it succeeded; what failed is tried again when it is next needed. */
function once<Made>(part: Progress["part"], loading: Loading, make: () => Promise<Made>): () => Promise<Made> {
  let made: Promise<Made> | null = null;
  return () => {
    made ??= make().then(
      (value) => {
        loading.ready(part);
        mark(part);
        return value;
      },
      (problem: unknown) => {
        made = null;
        loading.failed(part, loadFault(problem));
        throw problem;
      },
    );
    return made;
  };
}

async function start(): Promise<void> {
  try {
    await open(await openSite(document.baseURI));
  } catch (problem) {
    const { key, code } = startFault(problem, "indexedDB" in globalThis && indexedDB !== null);
    if (key === "problem.start_failed") reportError(problem);
    refuse(page, key, { code });
  }
}

async function open(site: Site): Promise<void> {
  const loading = new Loading();
  const engine: () => Promise<Engine> = once("engine", loading, () => openEngine(site, { onProgress: loading.progress }));
  const brain: () => Promise<Brain> = once("brain", loading, () => openBrain(site, loading.progress));
  const facts = {
    brain: site.brain && { id: site.brain.id },
    defaultHost: site.defaultHost ?? (site.hosted ? location.origin : null),
    hostBrain: site.brainMissing === "not_portable" ? (site.hostBrain ?? null) : null,
  };
  // while the records are opened and the egg is looked at, its room and its words come side by side; what fails is told
  // and tried again
  const begun = Promise.allSettled([engine(), site.brain ? brain() : null]);
  const household = await openHousehold({ engine, brain, site: facts });
  const offline = keepOffline(site, () => household.retire(), begun);
  await startRoom({ page, live, household, brain, site: facts, loading, offline });
}

void start();
