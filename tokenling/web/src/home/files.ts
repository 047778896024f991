/* A pet as a file: the save alone. Keys, ids and addresses never go into it. */

import type { Engine, JsonObject } from "../contract.ts";
import { FileRefused } from "./problems.ts";
import { isRefusal, refusedAs } from "./rules.ts";

/** The engine's bound on a save, in bytes of UTF-8. */
export const SAVE_BYTES_MAX = 1_048_576;

export interface NewbornFacts {
  name: string;
  petSeed: string;
  timeZone: string;
  brainId: string;
  nowMs: number;
}

/** The save of a new pet. A browser may name a zone that the engine's zone data does not have: then it is UTC. */
export async function newborn(engine: Engine, facts: NewbornFacts): Promise<JsonObject> {
  try {
    // an empty weather seed is the design's default: the sky is then the same for all pets
    const { state } = await engine.call("new_pet", { ...facts, weatherSeed: "" });
    return JSON.parse(state) as JsonObject;
  } catch (error) {
    if (isRefusal(error) && error.path === "/timeZone" && facts.timeZone !== "UTC")
      return newborn(engine, { ...facts, timeZone: "UTC" });
    throw refusedAs(error);
  }
}

/** The save in a file, checked whole by the engine: what it refuses is told with code and path, and changes nothing. */
export async function imported(engine: Engine, text: string): Promise<JsonObject> {
  if (new TextEncoder().encode(text).length > SAVE_BYTES_MAX)
    throw new FileRefused("file_size", { limitBytes: SAVE_BYTES_MAX });
  try {
    const { state } = await engine.call("load_save", { state: text.replace(/^\uFEFF/, "") });
    return JSON.parse(state) as JsonObject;
  } catch (error) {
    if (!isRefusal(error)) throw error;
    throw new FileRefused(error.code, { path: error.path, error: error.error });
  }
}

/** The file of a save, named after the pet and the day. */
export function exported(save: JsonObject, nowMs: number): { fileName: string; text: string } {
  const day = new Date(nowMs).toISOString().slice(0, 10);
  return { fileName: `${plainName(save.name)}-${day}.tokenling.json`, text: JSON.stringify(save) };
}

function plainName(name: unknown): string {
  const plain = String(name ?? "")
    .normalize("NFKD")
    .replace(/[^A-Za-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "");
  return plain || "tokenling";
}
