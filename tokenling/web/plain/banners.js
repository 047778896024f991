/* What stands in the way right now, told plainly above the room, each with what can be done about it. */

import { html, put } from "./dom.js";
import { say } from "./strings.js";

/** `show([{key, text, calm?, actions: [{label, run}]}])`; equal banners are left alone, so focus stays. */
export function makeBanners() {
  const element = html("section", { class: "banners", "aria-label": say("banners.label") });
  let shown = "";

  function show(banners) {
    const state = JSON.stringify(
      banners.map(({ key, text, actions }) => [key, text, actions.map(({ label }) => label)]),
    );
    if (state === shown) return;
    shown = state;
    put(element, ...banners.map(banner));
  }
  return { element, show };
}

function banner({ key, text, calm = false, actions }) {
  const buttons = actions.map(({ label, run }) => html("button", { type: "button", onclick: run }, label));
  return html("div", { class: calm ? "banner calm" : "banner", "data-banner": key }, html("p", {}, text), ...buttons);
}
