/* The frame around one pet: its name over the room, notices, the room with its shelf, and four tabs. */

import { html, setText } from "../dom.ts";
import { icon } from "../icons.ts";
import type { Model } from "../model.ts";
import { nameOf, say } from "../strings.ts";
import { makeBanners, type Banners } from "./banners.ts";
import { hostName } from "./house.ts";

export const TABS = ["talk", "diary", "life", "house"] as const;
export type Tab = (typeof TABS)[number];
const TROUBLED = new Set(["lost", "offline", "gone", "stopped"]);
const RESTING = new Set(["paused", "other_tab", "starting", "asking", "catching_up", "moving"]);

export interface FrameActions {
  selected(tab: Tab): void;
  sound(): void;
  quiet(): void;
  announce(text: string): void;
}

export interface Frame {
  readonly element: HTMLElement;
  readonly banners: Banners;
  readonly tab: () => Tab;
  select(tab: Tab, focus?: boolean): void;
  /** To the pet's name, from where everything else is found. */
  focus(): void;
  mark(tab: Tab, waiting: boolean): void;
  update(model: Model, state: { sound: boolean; quiet: boolean; loading: string | null; catchUp: number | null }): void;
}

export function makeFrame(home: HTMLElement, panels: Record<Tab, HTMLElement>, act: FrameActions): Frame {
  const name = html("h1", { dir: "auto", tabindex: -1 });
  const state = html("p", { class: "state" });
  const pill = html("span", { class: "pill" });
  const sound = switchButton("sound", act.sound);
  const quiet = switchButton("quiet", act.quiet);
  // in the room's corner, where no words hang
  home.querySelector(".pane")?.append(pill);
  const banners = makeBanners(act.announce);
  const tabs = makeTabs(panels, (tab) => {
    element.dataset.tab = tab;
    act.selected(tab);
  });
  const top = html(
    "header",
    { class: "top" },
    html("div", { class: "who" }, name, state),
    html("div", { class: "corner" }, banners.button, sound, quiet),
  );
  const element = html(
    "div",
    { class: "app", "data-tab": "talk" },
    top,
    html(
      "main",
      { class: "living" },
      home,
      html("section", { class: "side", "aria-label": say("tabs.label") }, banners.element, ...Object.values(panels), tabs.list),
    ),
  );

  function update(model: Model, now: { sound: boolean; quiet: boolean; loading: string | null; catchUp: number | null }): void {
    setText(name, model.name);
    name.title = model.name; // it may be cut short
    document.title = say("title.with", { name: model.name });
    setText(state, stateLine(model));
    setText(pill, now.loading ?? (now.catchUp !== null ? say("link.catching_up.percent", { percent: now.catchUp }) : linkText(model)));
    pill.hidden = !now.loading && model.link === "running";
    pill.classList.toggle("lost", TROUBLED.has(model.link));
    pill.classList.toggle("rest", RESTING.has(model.link) || model.link === "live" || now.loading !== null);
    show(sound, "sound", now.sound, now.sound ? "sound" : "mute");
    show(quiet, "quiet", now.quiet, "moon");
  }
  const focus = () => name.focus({ preventScroll: true });
  return { element, banners, tab: tabs.chosen, select: tabs.select, focus, mark: tabs.mark, update };
}

function switchButton(name: string, run: () => void): HTMLButtonElement {
  return html("button", { type: "button", class: "round see-through", "data-switch": name, onclick: run });
}

function show(button: HTMLButtonElement, name: string, on: boolean, drawing: string): void {
  if (button.getAttribute("aria-pressed") === String(on)) return;
  button.setAttribute("aria-pressed", String(on));
  button.setAttribute("aria-label", say(`top.${name}`));
  button.title = say(`top.${name}.${on ? "on" : "off"}`);
  button.replaceChildren(icon(drawing));
}

/** A pet that lives elsewhere says where, also when all is well. */
function linkText({ link, host }: Model): string {
  return link === "live" ? say("link.live", { host: hostName(host) }) : say(`link.${link}`);
}

export function stateLine(model: Model): string {
  if (model.away) return say("state.away");
  if (model.stage === "egg") return say("state.egg");
  const parts = [nameOf("stage", model.stage), say(model.asleep ? "state.asleep" : "state.awake"), nameOf("place", model.place)];
  if (model.want && !model.asleep) parts.push(nameOf("want", model.want));
  return parts.join(" · ");
}

/** The tab pattern of the ARIA practices: one tab stop, arrows move and select. */
function makeTabs(panels: Record<Tab, HTMLElement>, onSelect: (tab: Tab) => void) {
  const buttons = Object.fromEntries(TABS.map((key) => [key, makeTab(key)])) as Record<Tab, HTMLButtonElement>;
  const list = html("div", { class: "tabs", role: "tablist", "aria-label": say("tabs.label") }, ...Object.values(buttons));
  let chosen: Tab = "talk";
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    select(TABS[(TABS.indexOf(chosen) + step + TABS.length) % TABS.length] ?? "talk", true);
  });
  for (const key of TABS) {
    const attributes = { id: `panel-${key}`, role: "tabpanel", "aria-labelledby": `tab-${key}` };
    for (const [name, value] of Object.entries(attributes)) panels[key].setAttribute(name, value);
    buttons[key].addEventListener("click", () => select(key));
  }

  function select(tab: Tab, focus = false): void {
    chosen = tab;
    for (const key of TABS) {
      buttons[key].setAttribute("aria-selected", String(key === tab));
      buttons[key].tabIndex = key === tab ? 0 : -1;
      panels[key].hidden = key !== tab;
    }
    if (focus) buttons[tab].focus();
    onSelect(tab);
  }

  /** A tab with something waiting in it carries a dot. */
  function mark(tab: Tab, waiting: boolean): void {
    buttons[tab].classList.toggle("waiting", waiting);
    const told = buttons[tab].lastElementChild;
    if (told instanceof HTMLElement) told.hidden = !waiting;
  }
  for (const key of TABS) {
    buttons[key].tabIndex = key === chosen ? 0 : -1;
    buttons[key].setAttribute("aria-selected", String(key === chosen));
    panels[key].hidden = key !== chosen;
  }
  return { list, select, mark, chosen: () => chosen };
}

function makeTab(key: Tab): HTMLButtonElement {
  return html(
    "button",
    { type: "button", role: "tab", id: `tab-${key}`, "aria-controls": `panel-${key}` },
    icon(key),
    html("span", {}, say(`tab.${key}`)),
    html("span", { class: "unseen", hidden: true }, say("tab.new")),
  );
}
