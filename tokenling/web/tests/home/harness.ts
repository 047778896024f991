/* The household on an empty page, for tests in a real browser (tests/browser/test_home_*.py): real IndexedDB, locks,
   channels and fetch, a real host. `callEngine` is the engine itself, in the test's process; the brain is a script. */

import type {
  Brain,
  Engine,
  EngineCalls,
  Generated,
  HomeSnapshot,
  Household,
  HouseholdSnapshot,
} from "../../src/contract.ts";
import { openEngine } from "../../src/engine/client.ts";
import { openHousehold } from "../../src/home/household.ts";
import { openSite } from "../../src/site/site.ts";

declare global {
  interface Window {
    callEngine(name: string, args: string): Promise<string>;
    tests: typeof tests;
  }
}

const engine: Engine = {
  async call<Name extends keyof EngineCalls>(name: Name, args: EngineCalls[Name][0]) {
    const { ok, refused } = JSON.parse(await window.callEngine(name, JSON.stringify(args)));
    if (refused) throw Object.assign(new Error(refused.code), refused);
    return ok as EngineCalls[Name][1];
  },
  contract: () => Promise.reject(new Error("not here")),
  startedFrom: "files",
};

const brain = {
  info: { id: "scripted-1" },
  generate: async (request, options) => {
    await new Promise((resolve) => setTimeout(resolve, thinkMs));
    options?.signal?.throwIfAborted();
    return {
      reply: { text: request.mode === "diary" ? "a day at home." : "the page heard you.", stop: "eos" },
      receipt: { seed: request.seed },
      choices: [],
    } satisfies Generated;
  },
} as Pick<Brain, "generate"> as Brain;

let house: Household;
let thinkMs = 20;
/** How far this page's clock is off. */
let shiftMs = 0;
const seen = new Map<string, HomeSnapshot[]>();

const tests = {
  async open(brainId = "scripted-1", { inPage = false, shift = 0 } = {}): Promise<HouseholdSnapshot> {
    shiftMs = shift;
    house = await openHousehold({
      engine: inPage ? async () => openEngine(await openSite(new URL("/", location.href).href)) : async () => engine,
      now: () => Date.now() + shiftMs,
      brain: async () => brain,
      site: { brain: { id: brainId }, defaultHost: null },
    });
    return house.snapshot();
  },
  /** Sets the clock on, and lets the household look at it. */
  shift(ms: number): void {
    shiftMs = ms;
    document.dispatchEvent(new Event("visibilitychange"));
  },
  now: () => Date.now() + shiftMs,
  think: (ms: number) => void (thinkMs = ms),
  household: (): HouseholdSnapshot => house.snapshot(),
  pet: (localId: string): HomeSnapshot => house.home(localId).snapshot(),
  /** Calls a method of the household; what it rejects with comes back as a value. */
  async ask(
    name: keyof Household,
    ...args: unknown[]
  ): Promise<{ ok?: unknown; refused?: { code: string; fields: unknown; lost: boolean } }> {
    try {
      return { ok: await (house[name] as (...args: unknown[]) => unknown).call(house, ...args) };
    } catch (error) {
      const { code, fields, lost } = error as { code: string; fields: unknown; lost: boolean };
      if (code === undefined) throw error;
      return { refused: { code, fields, lost } };
    }
  },
  async send(localId: string, command: Parameters<ReturnType<Household["home"]>["send"]>[0]) {
    try {
      return { ok: (await house.home(localId).send(command)) ?? null };
    } catch (error) {
      const { code, fields } = error as { code: string; fields: unknown };
      if (code === undefined) throw error;
      return { refused: { code, fields } };
    }
  },
  noticed: (localId: string) => house.home(localId).noticed(),
  again: (localId: string, operationId: string) => house.home(localId).again(operationId),
  letGo: (localId: string, operationId: string) => house.home(localId).letGo(operationId),
  turns: (localId: string) => house.home(localId).turns(),
  retry: (localId: string) => house.home(localId).retry(),
  /** Looks at a pet from now on, as the room does. */
  watch(localId: string): void {
    const all: HomeSnapshot[] = [];
    seen.set(localId, all);
    house.home(localId).subscribe((snapshot) => all.push(snapshot));
  },
  /** Milliseconds from a living body to one that has lived up to now, stored and shown. */
  caughtUp: (localId: string): Promise<number> =>
    new Promise((resolve) => {
      let beganMs: number | null = null;
      house.home(localId).subscribe(({ link, view }) => {
        if (link === "running" || link === "catching_up") beganMs ??= performance.now();
        const behindMs = Date.now() + shiftMs - Number(view?.save.bodyClockMs);
        if (beganMs !== null && behindMs < 120_000) resolve(performance.now() - beganMs);
      });
    }),
  links: (localId: string) => (seen.get(localId) ?? []).map(({ link }) => link),
};

window.tests = tests;
