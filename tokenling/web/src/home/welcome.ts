/* Whether a save that came from a host may take the place of a copy here. A host is somebody else's machine: what it sends
   is asked of this page's engine first, and must be the same pet, or the good copy stays. */

import type { Engine, JsonObject } from "../contract.ts";
import { isSamePet } from "./conclusions.ts";
import { SAVE_BYTES_MAX } from "./files.ts";
import { isRefusal } from "./rules.ts";

/** `other_pet`: the save of another pet. `save_newer`: of rules that this page does not know yet. `save_refused`: no
    save. */
export type SaveProblem = "other_pet" | "save_newer" | "save_refused";

const NEWER = new Set(["newer_engine", "unknown_save_version"]);

/** Why the save is not taken for the pet that is held; null: it is. Rejects when the engine cannot be had. */
export async function saveProblemOf(
  engine: () => Promise<Engine>,
  held: JsonObject | null,
  save: JsonObject,
): Promise<SaveProblem | null> {
  if (held !== null && !isSamePet(held, save)) return "other_pet";
  const state = textOf(save);
  if (state === null || new TextEncoder().encode(state).length > SAVE_BYTES_MAX) return "save_refused";
  const rules = await engine();
  try {
    await rules.call("load_save", { state });
    return null;
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return NEWER.has(error.code) ? "save_newer" : "save_refused";
  }
}

/** Null for what is so deep that it cannot be written. */
function textOf(save: JsonObject): string | null {
  try {
    return JSON.stringify(save);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}
