/* The frame around one pet: name and state on top, banners, the room, and four tabs. */

import { makeBanners } from "./banners.js";
import { makeDiary } from "./diary.js";
import { html } from "./dom.js";
import { makeHome } from "./home.js";
import { makeSettings } from "./settings.js";
import { nameOf, say } from "./strings.js";
import { makeTalk } from "./talk.js";
import { makeTogether } from "./together.js";

const TABS = ["talk", "offer", "diary", "settings"];

export function makeFrame(act) {
  const name = html("h1", {});
  const state = html("p", {});
  const pill = html("span", { class: "pill" });
  const banners = makeBanners();
  const home = makeHome({ ...act, listen: () => listen() });
  const panels = { talk: makeTalk(act), offer: makeTogether(act), diary: makeDiary(), settings: makeSettings(act) };
  const side = makeTabs(panels, (key) => key === "talk" && act.read());
  const top = html("header", { class: "top" }, html("div", { class: "who" }, name, state), pill);
  const living = html("main", { class: "living" }, home.element, side.element);
  const element = html("div", { class: "app" }, top, banners.element, living);

  /** Leads to the conversation that the bubble by the pet is from. */
  function listen() {
    side.select("talk");
    panels.talk.focus();
  }

  function update({ model, link, pending, pets, nowMs, unread }) {
    name.textContent = model.name;
    document.title = say("title.with", { name: model.name });
    state.textContent = stateLine(model);
    pill.textContent = say(`link.${link}`);
    pill.classList.toggle("lost", link === "lost" || link === "offline");
    pill.classList.toggle("rest", link === "paused" || link === "stopped");
    home.update(model, nowMs, unread);
    panels.talk.update(model, pending);
    panels.offer.update(model);
    panels.diary.update(model);
    panels.settings.update(model, pets);
    side.mark("offer", model.game !== null);
    side.mark("talk", unread);
  }
  const talks = () => !panels.talk.element.hidden;
  return { element, update, banners, play: home.play, talk: panels.talk, select: side.select, talks };
}

function stateLine(model) {
  if (model.stage === "egg") return say("state.egg");
  const parts = [nameOf("stage", model.stage), say(model.asleep ? "state.asleep" : "state.awake")];
  if (model.place) parts.push(nameOf("place", model.place));
  if (model.want) parts.push(nameOf("want", model.want));
  return parts.join(" · ");
}

/** The tab pattern of the ARIA practices: one tab stop, arrows move and select. */
function makeTabs(panels, onSelect) {
  const tabs = Object.fromEntries(TABS.map((key) => [key, makeTab(key)]));
  const list = html("div", { class: "tabs", role: "tablist", "aria-label": say("tabs.label") }, ...Object.values(tabs));
  list.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const at = TABS.indexOf(event.target.id.replace("tab-", ""));
    const next = TABS[(at + step + TABS.length) % TABS.length];
    select(next);
    tabs[next].focus();
  });
  for (const [key, panel] of Object.entries(panels)) {
    for (const [name, value] of Object.entries({
      id: `panel-${key}`,
      role: "tabpanel",
      "aria-labelledby": `tab-${key}`,
    }))
      panel.element.setAttribute(name, value);
    tabs[key].addEventListener("click", () => select(key));
  }

  function select(chosen) {
    for (const key of TABS) {
      tabs[key].setAttribute("aria-selected", String(key === chosen));
      tabs[key].tabIndex = key === chosen ? 0 : -1;
      panels[key].element.hidden = key !== chosen;
    }
    onSelect(chosen);
  }

  /** A tab with something waiting in it carries a dot. */
  function mark(key, waiting) {
    tabs[key].classList.toggle("waiting", waiting);
    tabs[key].lastChild.hidden = !waiting;
  }
  select("talk");
  const element = html("section", { class: "side" }, list, ...Object.values(panels).map((panel) => panel.element));
  return { element, select, mark };
}

function makeTab(key) {
  return html(
    "button",
    { type: "button", role: "tab", id: `tab-${key}`, "aria-controls": `panel-${key}` },
    say(`tab.${key}`),
    html("span", { class: "unseen", hidden: true }, say("tab.new")),
  );
}
