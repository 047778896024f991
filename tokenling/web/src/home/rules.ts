/* The engine's rules as the executor calls them: several calls that belong together, and nothing of disks or time. */

import type { Command, Engine, EngineRefusal, EngineView, JsonObject, SaveText, Step } from "../contract.ts";
import { HomeProblem } from "./problems.ts";

/** Pending turns that one command may skip: 48 slots, and one a day for the 400 days of a gap, with margin. */
export const SKIPPED_MAX = 1000;

/** A state and what an executor asks of it. */
export interface Living {
  state: SaveText;
  view: EngineView;
}

export async function living(engine: Engine, state: SaveText): Promise<Living> {
  return { state, view: await engine.call("view", { state }) };
}

/** The pet of a stored save, at home in this page: one that comes from a host is rehomed, its body clock reset, so that
    no time is replayed; one whose brain this site has replaced goes on with the new one, at its own time. */
export async function atHome(engine: Engine, save: JsonObject, brainId: string | null, nowMs: number): Promise<Living> {
  const { state } = await engine.call("load_save", { state: JSON.stringify(save) });
  const here = await living(engine, state);
  const { hosting, bodyClockMs } = here.view;
  const brain = brainId ?? hosting.brainId;
  if (hosting.mode === "local" && hosting.brainId === brain) return here;
  const clockMs = hosting.mode === "local" ? bodyClockMs : nowMs;
  const step = await engine.call("rehome", {
    state,
    mode: "local",
    timeZone: hosting.timeZone,
    brainId: brain,
    nowMs: clockMs,
  });
  return living(engine, step.state);
}

/** An owner's command, with the idle turns that were pending skipped. Throws the engine's refusal. */
export async function obeyed(engine: Engine, state: SaveText, command: Command, nowMs: number): Promise<Step> {
  for (let skipped = 0; skipped < SKIPPED_MAX; skipped += 1) {
    try {
      return await engine.call("apply_command", { state, command, nowMs });
    } catch (refusal) {
      if (!isRefusal(refusal, "TurnsPending")) throw refusal;
      const { turn, state: here } = await engine.call("advance", { state, nowMs });
      if (turn === null) throw new Error("the engine says that turns are pending, and names none");
      state = (await engine.call("skip_turn", { state: here, turn, reason: "owner_came" })).state;
    }
  }
  throw new Error("more pending turns than a gap can hold");
}

export function isRefusal(error: unknown, name?: string): error is EngineRefusal {
  const { error: kind, code } = (error ?? {}) as Partial<EngineRefusal>;
  return typeof kind === "string" && typeof code === "string" && (name === undefined || kind === name);
}

/** A typed refusal as the room's own error, an engine that is not there, and a device whose clock says a time that no pet
    lives at (1970, after a battery was empty): neither is the pet's fault. Anything else is one of its rules and stays
    what it is. */
export function refusedAs(error: unknown): unknown {
  if (isRefusal(error, "BridgeRefused") && error.path === "/nowMs") return new HomeProblem("clock_wrong");
  if (error instanceof Error && error.name === "EngineUnavailable") return new HomeProblem("no_engine");
  return isRefusal(error) ? new HomeProblem(error.code, { path: error.path, error: error.error }) : error;
}
