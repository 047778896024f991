/* Nothing can go on here: told, with what would help. */

import { html, put } from "./dom.ts";
import { say } from "./strings.ts";

export interface Way {
  label: string;
  run: () => void;
}

/** `blanks` fill the sentence; `ways` are what else helps. */
export function refuse(page: HTMLElement, key: string, blanks: Record<string, string> = {}, ways: readonly Way[] = []): void {
  const again = html("button", { type: "button", class: "main", onclick: () => location.reload() }, say("refused.reload"));
  put(
    page,
    html(
      "main",
      { class: "refused" },
      html("h1", {}, say("refused.heading")),
      html("p", { class: "alert", role: "alert" }, say(key, blanks)),
      html("div", { class: "row" }, ...ways.map(({ label, run }) => html("button", { type: "button", onclick: run }, label)), again),
    ),
  );
}
