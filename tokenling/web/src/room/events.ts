/* Events of a pet's life in words, and which of them are news to an owner who comes back. */

import type { Model, PetEvent } from "./model.ts";
import { dateName } from "./times.ts";
import { nameOf, say } from "./strings.ts";

/** Lines on the card that greets a returning owner; the diary and the life tab have the rest. */
export const NEWS_MAX = 6;
/** What an owner did needs no retelling to that owner. */
const OWN_DOINGS = new Set(["fed", "washed", "tucked", "stroked", "lamp", "offered", "talked", "came", "habit", "named", "moved_house"]);
/** Events whose `n` counts equal ones in a row; elsewhere it is a score, or hours. */
const COUNTED = new Set(["fed", "washed", "tucked", "stroked", "lamp", "talked", "did", "went", "offered"]);
const LIST_OF_ITEM: Record<string, string> = { went: "place", did: "action", grew: "stage", weather: "weather" };

export function eventText({ kind, item, n }: PetEvent, name: string): string {
  const times = n > 1 && COUNTED.has(kind) ? say("event.times", { n }) : "";
  return say(`event.${kind}`, { name, item: nameOf(LIST_OF_ITEM[kind] ?? "item", item), n }) + times;
}

/** What happened since the owner last looked, newest last. `lastMs` is when that was, `watchedMs` the time of the newest
    words that stood before the owner: those are no news, however late the look was noted. */
export function newsSince(model: Model, lastMs: number, watchedMs = 0): { lines: string[]; more: number } {
  const { name } = model;
  const happened = model.events.filter((event) => event.atMs > lastMs && !OWN_DOINGS.has(event.kind));
  const lines = happened.map((event) => eventText(event, name));
  for (const page of model.diary.filter((page) => page.atMs > lastMs)) lines.push(say("news.diary", { name, date: dateName(page.date) }));
  const said = model.chat.filter((line) => !line.mine && line.atMs > Math.max(lastMs, watchedMs)).length;
  if (said > 0) lines.push(say(said === 1 ? "news.said.one" : "news.said", { name, count: said }));
  return { lines: lines.slice(-NEWS_MAX), more: Math.max(0, lines.length - NEWS_MAX) };
}
