/* The conversation: who said what and when, what is still on its way, and whether the pet is thinking. */

import { html, put, syncRows } from "./dom.js";
import { clockTime, dayName } from "./times.js";
import { say } from "./strings.js";

/** The engine's bound on what an owner says, in code points. */
const TEXT_MAX = 400;
/** The count is shown when it begins to matter. */
const LEFT_SHOWN = 60;
const NEAR_BOTTOM_PX = 80;

export function makeTalk(act) {
  const log = html("ol", { class: "log", tabindex: "0", "aria-label": say("talk.heading") });
  const input = html("input", { id: "say", type: "text", autocomplete: "off", enterkeyhint: "send" });
  const send = html("button", { class: "main", type: "submit" }, say("talk.send"));
  const left = html("p", { class: "small soft", hidden: true });
  const label = html("label", { class: "unseen", for: "say" });
  const form = html("form", { class: "speak", onsubmit: submit }, label, input, send, left);
  const element = html("div", { class: "panel talk" }, log, form);
  let away = null;
  let follows = true;
  input.addEventListener("input", count);
  let size = "";
  log.addEventListener("scroll", scrolled, { passive: true });
  // a banner, a keyboard or a turned phone changes the room for the log without a scroll: the newest line stays
  new ResizeObserver(follow).observe(log);

  function isNearEnd() {
    return log.scrollHeight - log.scrollTop - log.clientHeight < NEAR_BOTTOM_PX;
  }

  const sizeNow = () => `${log.clientWidth} ${log.clientHeight}`;

  /** Only an owner's own scrolling ends the following, not the page's while it takes another shape. */
  function scrolled() {
    if (size === sizeNow()) follows = isNearEnd();
  }

  function follow() {
    size = sizeNow();
    if (follows) log.scrollTop = log.scrollHeight;
  }

  function submit(event) {
    event.preventDefault();
    const text = input.value.trim();
    if (!text || codePoints(text) > TEXT_MAX || send.disabled) return;
    if (!act.say(text)) return;
    input.value = "";
    count();
  }

  function count() {
    const rest = TEXT_MAX - codePoints(input.value.trim());
    left.hidden = rest > LEFT_SHOWN;
    left.textContent = rest >= 0 ? say("talk.left", { left: rest }) : say("talk.over", { over: -rest });
    input.setAttribute("aria-invalid", String(rest < 0));
  }

  function update(model, pending) {
    label.textContent = say("talk.input", { name: model.name });
    input.placeholder = label.textContent;
    send.disabled = model.status !== "active";
    syncRows(log, rowsOf(model, pending, away), (row) => row.key, makeRow);
    follow();
  }

  /** Shows a card above the lines that were said after `sinceMs`: it tells of them. Null takes it away. */
  function showAway(card, sinceMs = 0) {
    away = card && { card, sinceMs };
    follows = true;
  }

  /** Puts a text that could not be sent back, unless the owner has begun another. */
  function giveBack(text) {
    if (!input.value) input.value = text;
  }
  const focus = () => input.focus({ preventScroll: true });
  return { element, update, showAway, giveBack, focus };
}

/** Every row has a key that changes when its look does, so only changed rows are made anew. */
function rowsOf(model, pending, away) {
  const rows = [];
  let day = null;
  let told = 0;
  for (const line of model.chat) {
    const lineDay = dayName(line.atMs, model.zone);
    if (away && !told && line.atMs > away.sinceMs) told = rows.push(awayRow(away));
    if (lineDay !== day) rows.push({ key: `day ${lineDay}`, kind: "day", text: lineDay });
    day = lineDay;
    rows.push({ key: `line ${line.key}`, kind: "line", line, name: model.name, zone: model.zone });
  }
  if (rows.length === 0 && pending.length === 0) rows.push(emptyRow(model));
  if (away && !told) rows.push(awayRow(away));
  for (const item of pending) rows.push({ key: `pending ${item.id} ${item.note}`, kind: "pending", item });
  if (model.thinking) rows.push({ key: "thinking", kind: "thinking", name: model.name });
  return rows;
}

function awayRow({ card }) {
  return { key: "away", kind: "away", card };
}

function emptyRow(model) {
  const key = model.stage === "egg" ? "talk.empty.egg" : "talk.empty";
  return { key: `${key} ${model.name}`, kind: "empty", text: say(key, { name: model.name }) };
}

function makeRow(row) {
  return ROWS[row.kind](row);
}

const ROWS = {
  day: (row) => html("li", { class: "day" }, row.text),
  empty: (row) => html("li", { class: "empty" }, row.text),
  away: (row) => html("li", {}, row.card),
  line: ({ line, name, zone }) => {
    const who = line.mine ? say("talk.you") : name;
    const time = html("time", { datetime: new Date(line.atMs).toISOString() }, clockTime(line.atMs, zone));
    return bubble(line.mine, line.text, html("span", { class: "about" }, who, " · ", time));
  },
  pending: ({ item }) => {
    const row = bubble(true, item.text, html("span", { class: "about" }, item.note));
    row.classList.add("pending");
    return row;
  },
  thinking: ({ name }) => {
    const dots = html("span", { class: "pondering", "aria-hidden": "true" }, html("i"), html("i"), html("i"));
    return html(
      "li",
      { class: "line thinking" },
      dots,
      html("span", { class: "about" }, say("state.thinking", { name })),
    );
  },
};

function bubble(mine, text, about) {
  return html("li", { class: mine ? "line mine" : "line" }, html("span", { class: "said", dir: "auto" }, text), about);
}

function codePoints(text) {
  return [...text].length;
}

/** The card that tells what happened since the owner last looked. */
export function awayCard(lines, more, close) {
  const rows = lines.map((line) => html("li", {}, line));
  const rest = more > 0 ? html("p", { class: "small soft" }, say("away.more", { count: more })) : null;
  const button = html("button", { type: "button", onclick: close }, say("away.close"));
  const card = html("div", { class: "card away" });
  put(card, html("h2", {}, say("away.heading")), html("ul", {}, ...rows), rest, html("div", { class: "row" }, button));
  return card;
}
