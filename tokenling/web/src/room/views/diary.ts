/* The diary as a book to leaf through: a page a day, with what was kept of it. */

import { html, onChange, type Child } from "../dom.ts";
import { icon } from "../icons.ts";
import type { DiaryPage, Model } from "../model.ts";
import { thingPicture } from "../scene/things.ts";
import { PET_LANGUAGE, say } from "../strings.ts";
import { dateName, monthName } from "../times.ts";

/** A finger that travelled this far to the side turns the page. */
const SWIPE_PX = 48;
/** Up to so many pages are leafed through one by one. A guess: a week and a bit. */
const LEAVES_MAX = 10;
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
  update(model: Model): void;
}

export function makeDiary(act: { mind(page: DiaryPage): void; announce(text: string): void }): DiaryView {
  const element = html("div", { class: "panel diary" });
  const render = onChange(element);
  let pages: DiaryPage[] = [];
  /** Null: the newest page, also when another one is written. */
  let open: number | null = null;
  let model: Model | null = null;
  watchKeys(element, (step) => turn(step));
  watchSwipes(element, (step) => turn(step));

  function turn(step: number): void {
    goTo(at() + step, step < 0 ? "back" : "on");
  }

  function at(): number {
    return Math.min(open ?? pages.length - 1, pages.length - 1);
  }

  function goTo(page: number, way: string): void {
    const next = Math.max(0, Math.min(pages.length - 1, page));
    if (next === at() || !model) return;
    open = next === pages.length - 1 ? null : next;
    element.dataset.way = way;
    draw();
    const shown = pages[next];
    if (shown) act.announce(say("diary.turned", { date: dateName(shown.date), page: next + 1, pages: pages.length }));
  }

  function draw(): void {
    if (!model) return;
    const { name } = model;
    const page = pages[at()];
    render([name, at(), pages.length, page], () =>
      page ? book(page, name) : [html("h2", {}, say("diary.heading", { name })), empty(name)],
    );
  }

  function book(page: DiaryPage, name: string): Child[] {
    return [
      html("div", { class: "diary-top" }, html("h2", {}, say("diary.heading", { name })), pages.length > LEAVES_MAX ? picker() : null),
      html(
        "article",
        { class: "page" },
        html("time", { datetime: page.date, class: "date" }, dateName(page.date)),
        html("p", { class: "entry", dir: "auto", lang: PET_LANGUAGE }, page.text),
        keepsake(page.keepsake),
        page.turn
          ? html(
              "button",
              { id: "diary-mind", type: "button", class: "link", onclick: () => act.mind(page) },
              icon("mind"),
              say("mind.open"),
            )
          : null,
      ),
      html(
        "nav",
        { class: "leaf", "aria-label": say("diary.leaf") },
        turner("first", at() === 0, () => goTo(0, "back")),
        turner("back", at() === 0, () => turn(-1)),
        html("span", { class: "where" }, say("diary.page", { page: at() + 1, pages: pages.length })),
        turner("next", at() === pages.length - 1, () => turn(1)),
        turner("last", at() === pages.length - 1, () => goTo(pages.length - 1, "on")),
      ),
    ];
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

  function update(next: Model): void {
    model = next;
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

function empty(name: string): HTMLElement {
  return html("div", { class: "page blank" }, thingPicture("feather"), html("p", { class: "soft" }, say("diary.empty", { name })));
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
