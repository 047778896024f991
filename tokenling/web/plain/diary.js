/* What the pet wrote, what it remembers, and what happened lately. */

import { html, put } from "./dom.js";
import { clockTime, dateName, dayName } from "./times.js";
import { eventText } from "./events.js";
import { nameOf, say } from "./strings.js";

/** As many as fit a quick look; the save holds more. */
const EVENTS_SHOWN = 40;

export function makeDiary() {
  // nothing in it takes the focus, so the panel does: it must scroll with the keyboard
  const element = html("div", { class: "panel", tabindex: "0" });
  let shown = "";

  function update(model) {
    const state = JSON.stringify([model.name, model.zone, model.diary, model.memories, model.treasures, model.events]);
    if (state === shown) return;
    shown = state;
    put(element, ...diaryPart(model), ...memoryPart(model), ...treasurePart(model), ...eventPart(model));
  }
  return { element, update };
}

function diaryPart({ diary, name }) {
  const entries = [...diary]
    .reverse()
    .map((entry) =>
      html(
        "li",
        { class: "entry" },
        html("time", { datetime: entry.date }, dateName(entry.date)),
        html("p", { dir: "auto" }, entry.text),
        keepsake(entry),
      ),
    );
  const list = entries.length ? html("ol", { class: "entries" }, ...entries) : emptyNote("diary.empty", name);
  return [html("h2", {}, say("diary.heading")), list];
}

function memoryPart({ memories, name }) {
  const rows = memories.map((memory) => html("li", { dir: "auto" }, memory));
  const list = rows.length ? html("ul", { class: "memories" }, ...rows) : emptyNote("memories.empty", name);
  return [html("h2", {}, say("memories.heading", { name })), list];
}

function eventPart(model) {
  const rows = [...model.events]
    .reverse()
    .slice(0, EVENTS_SHOWN)
    .map((event) => {
      const when = `${dayName(event.atMs, model.zone)}, ${clockTime(event.atMs, model.zone)}`;
      const time = html("time", { datetime: new Date(event.atMs).toISOString() }, when);
      return html("li", { class: "happening" }, time, html("span", {}, eventText(event, model.name)));
    });
  const list = rows.length ? html("ul", { class: "entries" }, ...rows) : emptyNote("events.empty", model.name);
  return [html("h2", {}, say("events.heading")), list];
}

function keepsake({ keepsake }) {
  return keepsake ? html("p", { class: "small soft" }, say("diary.keepsake", { item: keepsake })) : null;
}

function treasurePart({ treasures, name }) {
  if (treasures.length === 0) return [];
  const rows = treasures.map((item) => html("li", {}, nameOf("item", item)));
  return [html("h2", {}, say("treasures.heading", { name })), html("ul", { class: "memories" }, ...rows)];
}

function emptyNote(key, name) {
  return html("p", { class: "soft" }, say(key, { name }));
}
