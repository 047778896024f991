/* Telling pets apart that look alike: a pet from a file has the name, the colour and the stage of the one it was kept from. */

import type { PageNotes, PetSummary } from "../contract.ts";
import { say } from "./strings.ts";
import { dayAndTime } from "./times.ts";

/** How a pet came into this browser. */
export type Arrival = "egg" | "file" | "card";
export interface Came {
  how: Arrival;
  atMs: number;
}

const ARRIVALS: readonly string[] = ["egg", "file", "card"];

/** Names as they are listed: the second and third of a name carry their number, in the order in which they came. */
export function listedNames(pets: readonly PetSummary[]): Map<string, string> {
  const counts = new Map<string, number>();
  return new Map(
    pets.map(({ localId, name }) => {
      const bare = name || say("pets.unnamed");
      const count = (counts.get(bare) ?? 0) + 1;
      counts.set(bare, count);
      return [localId, count === 1 ? bare : say("pets.numbered", { name: bare, number: count })];
    }),
  );
}

/** The notes with how a pet came; those of pets that have gone are dropped. */
export function withCame(notes: PageNotes, localId: string, came: Came, known: readonly string[]): PageNotes {
  const kept = Object.entries(cameOf(notes)).filter(([id]) => known.includes(id));
  return { ...notes, came: Object.fromEntries([...kept, [localId, came]]) };
}

export function cameOf({ came }: PageNotes): Record<string, Came> {
  if (typeof came !== "object" || came === null) return {};
  return Object.fromEntries(Object.entries(came).filter((entry): entry is [string, Came] => isCame(entry[1])));
}

function isCame(value: unknown): value is Came {
  const { how, atMs } = (value ?? {}) as Partial<Came>;
  return typeof how === "string" && ARRIVALS.includes(how) && typeof atMs === "number" && Number.isFinite(atMs);
}

/** `from a file, Wed 14 Oct, 14:20`, or nothing where it was not noted. */
export function cameWords(came: Came | undefined): string {
  return came ? say(`pets.came.${came.how}`, { time: dayAndTime(came.atMs) }) : "";
}
