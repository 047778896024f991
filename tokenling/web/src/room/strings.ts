/* Every word the page says, in one table. A pet's words are its own and never stand here.

   `{name}` and the like are filled by `say`; a key that is missing shows itself, so a test finds it. */

import { KEEPING } from "./words_keeping.ts";
import { LIVING } from "./words_living.ts";

/** The language of this table, and of the pets: the shipped brain knows no other. */
export const PAGE_LANGUAGE = "en";
export const PET_LANGUAGE = "en";

const TABLE: Record<string, string | readonly string[]> = { ...LIVING, ...KEEPING };

/** Whole phrases of an owner that bring up the help line. Kept short on purpose: each is meant literally nearly always. What
    was considered and left out: single words (“die”, “dead”), games (“I died”), tiredness (“kill for a coffee”). */
export const HELP_PHRASES: readonly string[] = [
  "kill myself",
  "killing myself",
  "end my life",
  "ending my life",
  "take my own life",
  "taking my own life",
  "take my life",
  "commit suicide",
  "committing suicide",
  "i am suicidal",
  "im suicidal",
  "feel suicidal",
  "feeling suicidal",
  "suicidal thoughts",
  "thinking about suicide",
  "thinking of suicide",
  "want to die",
  "wanna die",
  "wish i was dead",
  "wish i were dead",
  "wish i could die",
  "better off dead",
  "better off without me",
  "dont want to live",
  "do not want to live",
  "dont want to be alive",
  "do not want to be alive",
  "dont want to exist",
  "do not want to exist",
  "dont want to be here anymore",
  "no reason to live",
  "nothing to live for",
  "hurt myself",
  "hurting myself",
  "harm myself",
  "harming myself",
  "self harm",
  "selfharm",
  "cut myself on purpose",
  "cutting myself",
];

/** The words under `key`, its blanks filled; `otherwise` where the table has none. */
export function say(key: string, blanks: Record<string, string | number> = {}, otherwise?: string): string {
  const text = TABLE[key];
  if (typeof text !== "string") return otherwise ?? key;
  return text.replace(/\{(\w+)\}/g, (blank, name: string) => String(blanks[name] ?? blank));
}

/** The word of a meter's band, 0 (lowest) to 4. */
export function bandWord(meter: string, band: number): string {
  const words = TABLE[`band.${meter}`];
  return Array.isArray(words) ? String(words[band] ?? "") : "";
}

/** Words for a name from one of the engine's closed lists: the table's, else the name, readable. */
export function nameOf(list: string, item: string): string {
  return say(`${list}.${item}`, {}, item.replaceAll("_", " "));
}

/** Words for a problem: by its code, else by the engine's reason, else saying the code. */
export function problemText(problem: unknown): string {
  const { code = "unexpected", fields } = (problem ?? {}) as { code?: unknown; fields?: Record<string, unknown> };
  const numbers = Object.fromEntries(
    Object.entries(fields ?? {}).filter((field): field is [string, number] => typeof field[1] === "number"),
  );
  const reason = typeof fields?.reason === "string" ? say(`problem.${fields.reason}`, numbers, "") : "";
  return reason || say(`problem.${String(code)}`, numbers, say("problem.other", { code: String(code) }));
}

/** Every key of the table, for its tests. */
export function stringKeys(): string[] {
  return Object.keys(TABLE);
}
