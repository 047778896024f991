/* The conversation: who said what and when, what is still on its way, what the pet is writing. Each of its lines opens the
   mind view. */

import { html, onChange, put, setText, syncRows } from "../dom.ts";
import { icon } from "../icons.ts";
import { TEXT_MAX, codePoints, typedText } from "../items.ts";
import type { ChatLine, Model } from "../model.ts";
import { PET_LANGUAGE, say } from "../strings.ts";
import { clockTime, dayName } from "../times.ts";
import { spokenOf } from "./speech.ts";

/** The count is shown when it begins to matter. */
const LEFT_SHOWN = 60;
const NEAR_BOTTOM_PX = 80;
/** Air above a card that is held in sight. */
const HELD_BELOW_PX = 10;

export interface TalkActions {
  /** Sends it; returns whether it was taken. */
  say(text: string): boolean;
  mind(line: ChatLine): void;
  retry(): void;
  /** For words that came back. */
  again(operationId: string): void;
  letGo(operationId: string): void;
  hideHelp(): void;
}

export interface TalkView {
  readonly element: HTMLElement;
  update(model: Model, state: { help: boolean }): void;
  showAway(card: HTMLElement, sinceMs: number): void;
  closeAway(): void;
  /** Puts a text that could not be sent back, before another that the owner has begun. */
  giveBack(text: string): void;
  focus(): void;
  /** Whether there is a card that has still to be read. */
  tells(): boolean;
}

/** Since when lines are new, and the card above them until it is closed. */
interface Away {
  card: HTMLElement | null;
  sinceMs: number;
}

type Row =
  | { key: string; kind: "day" | "empty"; text: string }
  | { key: string; kind: "line"; line: ChatLine; name: string; zone: string | undefined; fresh: boolean }
  | { key: string; kind: "away"; card: HTMLElement }
  | { key: string; kind: "pending"; id: string; text: string; state: string }
  | { key: string; kind: "thinking"; name: string };

export function makeTalk(act: TalkActions): TalkView {
  const log = html("ol", { class: "log", tabindex: "0", "aria-label": say("talk.heading") });
  const writing = html("span", { class: "said", dir: "auto", lang: PET_LANGUAGE });
  const composer = makeComposer({ ...act, say: speak });
  const help = makeHelp(act);
  const view = makeFollowing(log);
  const element = html("div", { class: "panel talk" }, log, view.button, help.element, composer.element);
  let away: Away | null = null;

  /** Whoever speaks is in the present. */
  function speak(text: string): boolean {
    view.holdTo(null);
    return act.say(text);
  }

  function update(model: Model, state: { help: boolean }): void {
    composer.update(model);
    help.update(state.help);
    setText(writing, spokenOf(model.words));
    syncRows(
      log,
      rowsOf(model, away),
      (row) => row.key,
      (row) => makeRow(row, act, writing),
    );
    log.classList.toggle("writes", spokenOf(model.words) !== "");
    view.keep();
  }

  /** Shows a card above the lines that were said after `sinceMs`: it tells of them, and they are marked. */
  function showAway(card: HTMLElement, sinceMs: number): void {
    away = { card, sinceMs };
    view.holdTo(card);
  }

  /** Takes the card away; the first new line stays where the card was. */
  function closeAway(): void {
    if (away) away.card = null;
    view.holdTo(log.querySelector<HTMLElement>(".fresh"));
  }
  return {
    element,
    update,
    showAway,
    closeAway,
    giveBack: composer.giveBack,
    focus: composer.focus,
    tells: () => (away?.card ?? null) !== null,
  };
}

/** What the log shows when it grows: its newest line, or a card that is to be read first, until its owner scrolls. A button
    leads to the newest line from anywhere else. */
function makeFollowing(log: HTMLElement) {
  const button = html(
    "button",
    { type: "button", class: "newest", hidden: true, onclick: () => toEnd() },
    say("talk.newest"),
    icon("down"),
  );
  let held: HTMLElement | null = null;
  let follows = true;
  let size = "";
  let setTo = 0;
  // a banner, a keyboard or a turned phone changes the room for the log without a scroll: what was in sight stays
  new ResizeObserver(keep).observe(log);
  log.addEventListener("scroll", scrolled, { passive: true });

  function scrolled(): void {
    if (size === sizeNow() && Math.abs(log.scrollTop - setTo) > 2) [held, follows] = [null, isNearEnd()];
    button.hidden = isNearEnd();
  }

  function isNearEnd(): boolean {
    return log.scrollHeight - log.scrollTop - log.clientHeight < NEAR_BOTTOM_PX;
  }

  function sizeNow(): string {
    return `${log.clientWidth} ${log.clientHeight}`;
  }

  function keep(): void {
    size = sizeNow();
    if (held?.isConnected) log.scrollTop += held.getBoundingClientRect().top - log.getBoundingClientRect().top - HELD_BELOW_PX;
    else if (follows) log.scrollTop = log.scrollHeight;
    setTo = log.scrollTop;
    // all that is new fits below it: from here on the newest line is followed again
    if (log.clientHeight > 0 && log.scrollHeight - log.scrollTop - log.clientHeight < 2) held = null;
    button.hidden = isNearEnd();
  }

  function holdTo(element: HTMLElement | null): void {
    [held, follows] = [element, true];
  }

  function toEnd(): void {
    holdTo(null);
    keep();
    log.focus({ preventScroll: true });
  }
  return { button, keep, holdTo, toEnd };
}

function makeComposer(act: TalkActions) {
  const input = html("input", { id: "say", type: "text", autocomplete: "off", enterkeyhint: "send" });
  const send = html("button", { class: "main round", type: "submit", "aria-label": say("talk.send") }, icon("send"));
  const left = html("p", { class: "small soft", hidden: true });
  const label = html("label", { class: "unseen", for: "say" });
  const element = html("form", { class: "speak", onsubmit: submit }, label, input, send, left);
  input.addEventListener("input", count);

  function submit(event: Event): void {
    event.preventDefault();
    const text = typedText(input.value);
    if (!text || codePoints(text) > TEXT_MAX || send.disabled || !act.say(text)) return;
    input.value = "";
    count();
  }

  function count(): void {
    const rest = TEXT_MAX - codePoints(input.value.trim());
    left.hidden = rest > LEFT_SHOWN;
    left.textContent = rest >= 0 ? say("talk.left", { left: rest }) : say("talk.over", { over: -rest });
    input.setAttribute("aria-invalid", String(rest < 0));
  }

  function update(model: Model): void {
    setText(label, say("talk.input", { name: model.name }));
    input.placeholder = label.textContent ?? "";
    send.disabled = !model.present;
  }
  const giveBack = (text: string) => {
    input.value = input.value ? `${text} ${input.value}` : text;
    count();
  };
  return { element, update, giveBack, focus: () => input.focus({ preventScroll: true }) };
}

/** Said by the page, not the pet. The link is only followed when the owner does. */
function makeHelp(act: TalkActions) {
  const element = html("aside", { class: "help", "aria-label": say("help.label"), hidden: true });
  const render = onChange(element);
  function update(shown: boolean): void {
    element.hidden = !shown;
    render(shown, () => [
      html("p", {}, say("help.text")),
      html(
        "div",
        { class: "row" },
        html(
          "a",
          { class: "button", href: say("help.address"), target: "_blank", rel: "noreferrer noopener", referrerpolicy: "no-referrer" },
          say("help.link"),
        ),
        html("button", { type: "button", class: "plain", onclick: () => act.hideHelp() }, say("help.close")),
      ),
      html("p", { class: "small" }, say("help.note")),
    ]);
  }
  return { element, update };
}

/** Every row has a key that changes when its look does, so only changed rows are made anew. */
function rowsOf(model: Model, away: Away | null): Row[] {
  const rows: Row[] = [];
  let day = "";
  let told = false;
  const came = new Map<string, number>();
  const times = (name: string) => came.set(name, (came.get(name) ?? 0) + 1).get(name);
  const tellAway = () => {
    if (!away || told) return;
    if (away.card) rows.push({ key: "away", kind: "away", card: away.card });
    told = true;
  };
  for (const line of model.chat) {
    const lineDay = dayName(line.atMs, model.zone);
    if (away && line.atMs > away.sinceMs) tellAway();
    // a clock that was set back makes a day come twice, each time with lines of its own
    if (lineDay !== day) rows.push({ key: `day ${lineDay} ${times(lineDay)}`, kind: "day", text: lineDay });
    day = lineDay;
    const fresh = told && !line.mine;
    rows.push({ key: `line ${fresh ? "fresh " : ""}${line.key}`, kind: "line", line, name: model.name, zone: model.zone, fresh });
  }
  const pending = model.pending.filter((item) => item.command.kind === "say");
  if (rows.length === 0 && pending.length === 0) rows.push(emptyRow(model));
  tellAway();
  for (const { operationId, command, state } of pending) {
    if (command.kind === "say") rows.push({ key: `pending ${operationId} ${state}`, kind: "pending", id: operationId, text: command.text, state });
  }
  if (model.thinking) rows.push({ key: "thinking", kind: "thinking", name: model.name });
  return rows;
}

function emptyRow(model: Model): Row {
  const key = model.stage === "egg" ? "talk.empty.egg" : "talk.empty";
  return { key: `${key} ${model.name}`, kind: "empty", text: say(key, { name: model.name }) };
}

function makeRow(row: Row, act: TalkActions, writing: HTMLElement): HTMLElement {
  switch (row.kind) {
    case "day":
    case "empty":
      return html("li", { class: row.kind }, html("span", {}, row.text));
    case "away":
      return html("li", {}, row.card);
    case "line":
      return lineRow(row, act);
    case "pending":
      return pendingRow(row, act);
    case "thinking":
      return thinkingRow(row.name, writing);
  }
}

function lineRow({ line, name, zone, fresh }: Row & { kind: "line" }, act: TalkActions): HTMLElement {
  const time = html("time", { datetime: new Date(line.atMs).toISOString() }, clockTime(line.atMs, zone));
  if (line.mine)
    return html(
      "li",
      { class: "line mine" },
      html("span", { class: "said", dir: "auto" }, line.text),
      html("span", { class: "about" }, say("talk.you"), " · ", time),
    );
  const open = html(
    "button",
    { type: "button", class: "said", dir: "auto", lang: PET_LANGUAGE, title: say("mind.open"), onclick: () => act.mind(line) },
    line.text,
    html("span", { class: "unseen" }, ` (${say("mind.open")})`),
  );
  const mark = fresh ? html("span", { class: "new-mark" }, say("talk.new")) : null;
  return html("li", { class: fresh ? "line fresh" : "line" }, open, html("span", { class: "about" }, mark, name, " · ", time));
}

function pendingRow({ id, text, state }: Row & { kind: "pending" }, act: TalkActions): HTMLElement {
  const link = (key: string, run: () => void) => html("button", { type: "button", class: "link", onclick: run }, say(key));
  const ways = {
    stuck: [link("talk.stuck.retry", act.retry)],
    returned: [link("talk.returned.again", () => act.again(id)), link("talk.returned.letgo", () => act.letGo(id))],
  }[state];
  return html(
    "li",
    { class: "line mine pending", "data-state": state },
    html("span", { class: "said", dir: "auto" }, text),
    html("span", { class: "about" }, say(`talk.${state}`), ...(ways ?? [])),
  );
}

function thinkingRow(name: string, writing: HTMLElement): HTMLElement {
  const dots = html("span", { class: "pondering", "aria-hidden": "true" }, html("i"), html("i"), html("i"));
  return html("li", { class: "line thinking" }, writing, dots, html("span", { class: "about" }, say("state.thinking", { name })));
}

/** The card that tells what happened since the owner last looked: read first, then the lines below it that are new. */
export function awayCard(news: { lines: readonly string[]; more: number; since: string }, close: () => void): HTMLElement {
  const { lines, more, since } = news;
  const card = html("section", { class: "card away", "aria-label": say("away.heading") });
  put(
    card,
    html("h2", {}, icon("leaf"), say("away.heading")),
    html("button", { type: "button", class: "round plain", "aria-label": say("away.close"), onclick: close }, icon("close")),
    html("p", { class: "small soft" }, say("away.since", { since })),
    html("ul", {}, ...lines.map((line) => html("li", {}, line))),
    more > 0 ? html("p", { class: "small soft" }, say("away.more", { count: more })) : null,
  );
  return card;
}
