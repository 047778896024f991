/* The diary as a book to leaf through: a page a day, with what was kept of it. */

import { html, onChange, type Child } from "../dom.ts";
import { icon } from "../icons.ts";
import type { DiaryPage, Model } from "../model.ts";
import { shellPicture } from "../scene/creature.ts";
import { thingPicture } from "../scene/things.ts";
import { PET_LANGUAGE, say } from "../strings.ts";
import { dateName, dayAndTime, monthName } from "../times.ts";

/** A finger that travelled this far to the side turns the page. */
const SWIPE_PX = 48;
/** Up to so many pages are leafed through one by one. A guess: a week and a bit. */
const LEAVES_MAX = 10;
/** Where the book begins: before its first page. */
const FLYLEAF = -1;
/** Words of a keepsake by which it is drawn, the first that fits. */
const KEEPSAKES = [
  "shell",
  "feather",
  "button",
  "scarf",
  "pebble",
  "stone",
  "flower",
  "acorn",
  "berry",
  "plum",
  "carrot",
  "bread",
  "soup",
  "honey",
  "nut",
  "apple",
  "score",
  "bud",
  "leaf",
];
const DRAWN_AS: Record<string, string> = { stone: "pebble", score: "ball", bud: "flower" };

export interface DiaryView {
  readonly element: HTMLElement;
  /** `hatchedMs`: when it hatched, where that is known. */
  update(model: Model, hatchedMs: number | null): void;
}

export function makeDiary(act: { mind(page: DiaryPage): void; announce(text: string): void }): DiaryView {
  const element = html("div", { class: "panel diary" });
  const render = onChange(element);
  let pages: DiaryPage[] = [];
  /** Null: the newest page, also when another one is written. */
  let open: number | null = null;
  let model: Model | null = null;
  let hatched: number | null = null;
  watchKeys(element, (step) => turn(step));
  watchSwipes(element, (step) => turn(step));

  function turn(step: number): void {
    goTo(at() + step, step < 0 ? "back" : "on");
  }

  function at(): number {
    return Math.min(open ?? pages.length - 1, pages.length - 1);
  }

  function goTo(page: number, way: string): void {
    const next = Math.max(FLYLEAF, Math.min(pages.length - 1, page));
    if (next === at() || !model) return;
    open = next === pages.length - 1 ? null : next;
    element.dataset.way = way;
    draw();
    const shown = pages[next];
    act.announce(shown ? say("diary.turned", { date: dateName(shown.date), page: next + 1, pages: pages.length }) : say("diary.flyleaf"));
  }

  function draw(): void {
    if (!model) return;
    const page = pages[at()];
    const shown = model;
    const { name, stage, hue, zone } = shown;
    render([name, stage, hue, zone, hatched, at(), pages.length, page], () => book(page ?? null, shown));
  }

  function book(page: DiaryPage | null, model: Model): Child[] {
    const { name } = model;
    return [
      html("div", { class: "diary-top" }, html("h2", {}, say("diary.heading", { name })), pages.length > LEAVES_MAX ? picker() : null),
      page ? leaf(page) : flyleaf(model, hatched, pages.length === 0),
      html(
        "nav",
        { class: "leaf", "aria-label": say("diary.leaf") },
        turner("first", at() <= 0, () => goTo(0, "back")),
        turner("back", at() === FLYLEAF, () => turn(-1)),
        html("span", { class: "where" }, page ? say("diary.page", { page: at() + 1, pages: pages.length }) : say("diary.flyleaf")),
        turner("next", at() === pages.length - 1, () => turn(1)),
        turner("last", at() === pages.length - 1, () => goTo(pages.length - 1, "on")),
      ),
    ];
  }

  function leaf(page: DiaryPage): HTMLElement {
    const open = html(
      "button",
      { id: "diary-mind", type: "button", class: "link", onclick: () => act.mind(page) },
      icon("mind"),
      say("mind.open"),
    );
    return html(
      "article",
      { class: "page" },
      html("time", { datetime: page.date, class: "date" }, dateName(page.date)),
      html("p", { class: "entry", dir: "auto", lang: PET_LANGUAGE }, page.text),
      keepsake(page.keepsake),
      page.turn ? open : null,
    );
  }

  /** Leads to any page of a thick book, by its date. */
  function picker(): HTMLElement {
    const select = html("select", { id: "diary-date", "aria-label": say("diary.go") });
    const months = new Map<string, HTMLOptGroupElement>();
    for (const [index, { date }] of pages.entries()) {
      const month = date.slice(0, 7);
      const group = months.get(month) ?? html("optgroup", { label: monthName(date) });
      months.set(month, group);
      group.append(html("option", { value: index, selected: index === at() }, dateName(date)));
    }
    select.append(...months.values());
    select.addEventListener("change", () => goTo(Number(select.value), Number(select.value) < at() ? "back" : "on"));
    return select;
  }

  function update(next: Model, hatchedMs: number | null): void {
    model = next;
    hatched = hatchedMs;
    pages = next.diary;
    draw();
  }
  return { element, update };
}

/** Stays focusable at an end of the book: a button that vanishes under one's finger is worse. */
function turner(name: string, atEnd: boolean, run: () => void): HTMLElement {
  return html(
    "button",
    { id: `diary-${name}`, type: "button", class: "round", "aria-label": say(`diary.${name}`), "aria-disabled": atEnd, onclick: run },
    icon(name),
  );
}

function keepsake(text: string): HTMLElement | null {
  if (!text) return null;
  return html(
    "figure",
    { class: "keepsake" },
    thingPicture(drawingOf(text)),
    html("figcaption", {}, say("diary.keepsake", { item: text })),
  );
}

export function drawingOf(keepsake: string): string {
  const word = KEEPSAKES.find((known) => keepsake.includes(known)) ?? "leaf";
  return DRAWN_AS[word] ?? word;
}

/** Before the first page, by the page itself and not by the pet: whose book it is, and what is left of the egg. */
function flyleaf({ name, stage, hue, bornMs, zone }: Model, hatched: number | null, isEmpty: boolean): HTMLElement {
  const shell = shellPicture();
  shell.style.setProperty("--hue", String(hue));
  const egg = stage === "egg";
  return html(
    "article",
    { class: "page flyleaf" },
    html("p", { class: "date" }, say("diary.belongs")),
    html("p", { class: "owner", dir: "auto" }, name),
    html("figure", { class: "keepsake" }, egg ? null : shell, html("figcaption", {}, say(egg ? "diary.shell.egg" : "diary.shell"))),
    html("p", { class: "small soft" }, say("diary.laid", { date: dayAndTime(bornMs, zone) })),
    hatched === null ? null : html("p", { class: "small soft" }, say("diary.hatched", { date: dayAndTime(hatched, zone) })),
    isEmpty ? html("p", {}, say("diary.empty", { name })) : null,
  );
}

function watchKeys(element: HTMLElement, turn: (step: number) => void): void {
  element.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1, PageUp: -1, PageDown: 1 }[event.key];
    if (step === undefined || event.target instanceof HTMLSelectElement) return;
    event.preventDefault();
    turn(step);
  });
}

function watchSwipes(element: HTMLElement, turn: (step: number) => void): void {
  let from: { x: number; y: number } | null = null;
  element.addEventListener(
    "pointerdown",
    (event) => (from = event.pointerType === "mouse" ? null : { x: event.clientX, y: event.clientY }),
  );
  element.addEventListener("pointerup", (event) => {
    if (!from) return;
    const [dx, dy] = [event.clientX - from.x, event.clientY - from.y];
    from = null;
    if (Math.abs(dx) > SWIPE_PX && Math.abs(dx) > Math.abs(dy) * 1.5) turn(dx < 0 ? 1 : -1);
  });
  element.addEventListener("pointercancel", () => (from = null));
}
