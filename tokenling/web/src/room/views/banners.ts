/* What stands in the way right now, told plainly, each with what can be done about it. One notice at a time, the most
   pressing first; each can be put aside, and a button over the room then holds how many there are. */

import { html, put, setText } from "../dom.ts";
import { icon } from "../icons.ts";
import { say } from "../strings.ts";

export interface Action {
  label: string;
  run: () => void;
}

export interface Banner {
  key: string;
  text: string;
  calm?: boolean;
  actions: Action[];
  /** What its cross does; one without is put aside. */
  close?: () => void;
}

export interface Banners {
  readonly element: HTMLElement;
  /** Brings back what was put aside; in sight only while something is. */
  readonly button: HTMLButtonElement;
  show(banners: readonly Banner[]): void;
}

/** Which notice is in sight and which are aside. A notice put aside comes back when it has something else to say. */
export class Turns {
  #aside = new Set<string>();
  #known = new Set<string>();
  #shown = "";

  /** Takes the notices as they are now, most pressing first; returns the keys of those that are new. */
  take(banners: readonly Banner[]): string[] {
    const names = new Set(banners.map(nameOf));
    for (const name of this.#aside) if (!names.has(name)) this.#aside.delete(name);
    const keys = new Set(banners.map(({ key }) => key));
    const fresh = [...keys].filter((key) => !this.#known.has(key));
    this.#known = keys;
    const [first] = banners;
    if (first && fresh.includes(first.key)) this.#shown = first.key;
    return fresh;
  }

  /** Those that are not aside, and the place of the one in sight among them. */
  of(banners: readonly Banner[]): { open: Banner[]; at: number } {
    const open = banners.filter((banner) => !this.#aside.has(nameOf(banner)));
    return {
      open,
      at: Math.max(
        0,
        open.findIndex(({ key }) => key === this.#shown),
      ),
    };
  }

  next(banners: readonly Banner[]): void {
    const { open, at } = this.of(banners);
    this.#shown = open[(at + 1) % open.length]?.key ?? "";
  }

  putAside(banner: Banner): void {
    this.#aside.add(nameOf(banner));
  }

  bringBack(): void {
    this.#aside.clear();
  }
}

function nameOf({ key, text }: Banner): string {
  return `${key} ${text}`;
}

export function makeBanners(announce: (text: string) => void): Banners {
  const element = html("section", { class: "banners", "aria-label": say("banners.label"), hidden: true });
  const count = html("span", { class: "count", "aria-hidden": "true" });
  const button = html(
    "button",
    { type: "button", class: "round see-through notices", hidden: true, onclick: bringBack },
    icon("warn"),
    count,
  );
  const turns = new Turns();
  let banners: readonly Banner[] = [];
  let drawn = "";

  function show(now: readonly Banner[]): void {
    banners = now;
    const fresh = turns.take(now);
    for (const { key, text, calm } of now) if (fresh.includes(key) && !calm && key !== "problem") announce(text);
    draw();
  }

  /** Equal notices are left alone, so the focus stays. */
  function draw(): void {
    const { open, at } = turns.of(banners);
    const shown = open[at];
    const aside = banners.length - open.length;
    button.hidden = aside === 0;
    setText(count, String(aside));
    button.setAttribute("aria-label", say(aside === 1 ? "banners.aside.one" : "banners.aside", { count: aside }));
    const state = shown ? JSON.stringify([shown.key, shown.text, shown.actions.map(({ label }) => label), at, open.length]) : "";
    if (state === drawn) return;
    drawn = state;
    const focused = element.contains(document.activeElement) ? (document.activeElement?.id ?? "") : null;
    element.hidden = !shown;
    put(element, shown ? row(shown, at, open.length) : null);
    if (focused !== null) focusAgain(focused);
  }

  /** What had the focus keeps it; where it has gone, it goes on to what is there. */
  function focusAgain(id: string): void {
    const again = id ? element.querySelector<HTMLElement>(`#${CSS.escape(id)}`) : null;
    (again ?? element.querySelector<HTMLElement>("button") ?? (button.hidden ? null : button))?.focus({ preventScroll: true });
  }

  function row(banner: Banner, at: number, of: number): HTMLElement {
    const { key, text, calm = false, actions } = banner;
    const buttons = actions.map(({ label, run }, index) => html("button", { id: `notice-${index}`, type: "button", onclick: run }, label));
    return html(
      "div",
      { class: calm ? "banner calm" : "banner", "data-banner": key },
      icon(calm ? "leaf" : "warn"),
      html("p", {}, text),
      html(
        "button",
        { id: "notice-close", type: "button", class: "round plain", "aria-label": say("banners.close"), onclick: () => close(banner) },
        icon("close"),
      ),
      html("div", { class: "row" }, ...buttons, of > 1 ? turner(at, of) : null),
    );
  }

  function turner(at: number, of: number): HTMLElement {
    const label = say("banners.next", { at: at + 1, of });
    return html(
      "button",
      { id: "notice-next", type: "button", class: "plain next", "aria-label": label, onclick: next },
      say("banners.at", { at: at + 1, of }),
      icon("next"),
    );
  }

  function close(banner: Banner): void {
    if (banner.close) return banner.close();
    turns.putAside(banner);
    draw();
  }

  function next(): void {
    turns.next(banners);
    draw();
  }

  function bringBack(): void {
    turns.bringBack();
    draw();
    element.querySelector("button")?.focus({ preventScroll: true });
  }
  return { element, button, show };
}
