/* What an effect looks and sounds like, and which effects are new. An effect is played once, by its id: what was played is
   noted before it plays, so neither a reload nor a second view plays it again. */

import type { Effect } from "../contract.ts";
import type { SparkKind } from "./scene/sparks.ts";
import type { SoundName } from "./sound.ts";

export interface Play {
  movement?: string;
  item?: string;
  sparks?: SparkKind;
  sound?: SoundName;
  /** How long it has the room for itself: what comes with it is played after it. */
  aloneMs?: number;
  /** When in it the sparks fly. */
  sparksAfterMs?: number;
}

/** More than this at once would be noise: a page that was away for a moment plays the newest. */
export const AT_ONCE_MAX = 3;

/** Rocking, cracking, the shell falling away: scene.css plays it over this time. */
export const HATCH_MS = 4200;

const PLAYS: Record<string, Play> = {
  hatch: { movement: "hatch", sparks: "star", sound: "chime", aloneMs: HATCH_MS, sparksAfterMs: HATCH_MS / 2 },
  grow: { movement: "stretch", sparks: "star", sound: "chime" },
  feed: { movement: "eat", sparks: "crumb", sound: "munch" },
  wash: { movement: "wash", sparks: "bubble", sound: "splash" },
  tuck: { movement: "hug", sparks: "leaf", sound: "soft" },
  stroke: { movement: "stroke", sparks: "heart", sound: "purr" },
  lamp: { sound: "click" },
  speak: { movement: "hop", sound: "chirp" },
  accept: { movement: "yes", sparks: "star", sound: "chime" },
  decline: { movement: "no", sound: "low" },
  game_start: { movement: "yes", sound: "chime" },
  game_end: { movement: "dance", sparks: "star", sound: "chime" },
  wake: { movement: "stretch", sound: "chirp" },
  sleep: { sound: "soft" },
  want: { sparks: "note", sound: "soft" },
  remember: { sparks: "leaf", sound: "soft" },
  diary: { movement: "draw", sparks: "leaf", sound: "soft" },
};

const PLAYS_OF_ACTION: Record<string, Play> = {
  eat: { movement: "eat", item: "bread", sparks: "crumb", sound: "munch" },
  nap: { sound: "soft" },
  play: { movement: "play", item: "ball", sparks: "star", sound: "chirp" },
  wash: { movement: "wash", sparks: "bubble", sound: "splash" },
  explore: { movement: "explore" },
  sing: { movement: "sing", sparks: "note", sound: "song" },
  dance: { movement: "dance", sparks: "note", sound: "song" },
  watch: {},
  draw: { movement: "draw", item: "feather" },
  stretch: { movement: "stretch" },
  hug: { movement: "hug", sparks: "heart", sound: "purr" },
  hide: { movement: "hide" },
  wake: { movement: "stretch" },
};
/** Effects whose `item` is held in its paws while it plays. */
const HELD = new Set(["feed", "accept"]);

/** How an effect is played; an unknown one is not. */
export function playOf(effect: Effect): Play | null {
  const item = typeof effect.item === "string" ? effect.item : "";
  if (effect.kind === "act") return PLAYS_OF_ACTION[item] ?? null;
  const play = PLAYS[effect.kind] ?? null;
  return play && item && HELD.has(effect.kind) ? { ...play, item } : play;
}

/** The effects after `seenId`, and the id that is seen then. Before the first look nothing is new. `nextId` is the pet's own
    count: an id that the count has not reached was made up, and one that was noted all the same is forgotten, or nothing
    would ever be new again. */
export function freshEffects(
  given: readonly Effect[],
  noted: number | null,
  nextId = Number.MAX_SAFE_INTEGER,
): { fresh: Effect[]; seenId: number } {
  const effects = given.filter(({ id }) => id > 0 && id < nextId);
  const seenId = noted !== null && noted >= nextId ? null : noted;
  const newest = effects.reduce((most, effect) => Math.max(most, effect.id), seenId ?? 0);
  const fresh = seenId === null ? [] : effects.filter((effect) => effect.id > seenId);
  return { fresh: fresh.slice(-AT_ONCE_MAX), seenId: newest };
}
