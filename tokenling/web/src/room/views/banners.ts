/* What stands in the way right now, told plainly, each with what can be done about it. */

import { html, put } from "../dom.ts";
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
}

export interface Banners {
  readonly element: HTMLElement;
  show(banners: readonly Banner[]): void;
}

/** Equal banners are left alone, so the focus stays. */
export function makeBanners(): Banners {
  const element = html("section", { class: "banners", "aria-label": say("banners.label") });
  let shown = "";
  return {
    element,
    show: (banners) => {
      const state = JSON.stringify(banners.map(({ key, text, actions }) => [key, text, actions.map(({ label }) => label)]));
      if (state === shown) return;
      shown = state;
      element.hidden = banners.length === 0;
      put(element, ...banners.map(row));
    },
  };
}

function row({ key, text, calm = false, actions }: Banner): HTMLElement {
  const buttons = actions.map(({ label, run }) => html("button", { type: "button", onclick: run }, label));
  return html(
    "div",
    { class: calm ? "banner calm" : "banner", "data-banner": key },
    icon(calm ? "leaf" : "warn"),
    html("p", {}, text),
    html("div", { class: "row" }, ...buttons),
  );
}
