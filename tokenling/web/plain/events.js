/* Events of a pet's life in words, and which of them are news to an owner who comes back. */

import { dateName } from "./times.js";
import { nameOf, say } from "./strings.js";

/** Lines on the card that greets a returning owner; the diary tab has the rest. */
export const NEWS_MAX = 6;
/** What an owner did needs no retelling to that owner. */
const OWN_DOINGS = new Set([
  "fed",
  "washed",
  "tucked",
  "stroked",
  "lamp",
  "offered",
  "talked",
  "came",
  "habit",
  "named",
  "moved_house",
]);

/** Events whose `n` counts equal ones in a row; elsewhere it is a score, or hours. */
const COUNTED = new Set(["fed", "washed", "tucked", "stroked", "lamp", "talked", "did", "went", "offered"]);

export function eventText({ kind, item = "", n = 1 }, name) {
  const times = n > 1 && COUNTED.has(kind) ? say("event.times", { n }) : "";
  return say(`event.${kind}`, { name, item: itemName(kind, item), n }) + times;
}

/** `{lines, more}`: what happened since the owner last looked, newest last. `lastMs` is when that was, `watchedMs` the
    time of the newest words that stood before the owner: those are no news, however late the look was noted. */
export function newsSince(model, lastMs, watchedMs = 0) {
  const happened = model.events.filter((event) => event.atMs > lastMs && !OWN_DOINGS.has(event.kind));
  const lines = happened.map((event) => eventText(event, model.name));
  for (const page of model.diary.filter((page) => page.atMs > lastMs))
    lines.push(say("news.diary", { name: model.name, date: dateName(page.date) }));
  const said = model.chat.filter((line) => !line.mine && line.atMs > Math.max(lastMs, watchedMs)).length;
  if (said > 0) lines.push(say(said === 1 ? "news.said.one" : "news.said", { name: model.name, count: said }));
  return { lines: lines.slice(-NEWS_MAX), more: Math.max(0, lines.length - NEWS_MAX) };
}

function itemName(kind, item) {
  if (kind === "went") return nameOf("place", item);
  if (kind === "did") return nameOf("action", item);
  if (kind === "grew") return nameOf("stage", item);
  if (kind === "weather") return nameOf("weather", item);
  return nameOf("item", item);
}
