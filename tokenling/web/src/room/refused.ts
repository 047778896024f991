/* Nothing can go on here: told, with what would help. */

import { html, put } from "./dom.ts";
import { say } from "./strings.ts";

export function refuse(page: HTMLElement, key: string): void {
  const again = html("button", { type: "button", class: "main", onclick: () => location.reload() }, say("refused.reload"));
  put(
    page,
    html(
      "main",
      { class: "refused" },
      html("h1", {}, say("refused.heading")),
      html("p", { class: "alert", role: "alert" }, say(key)),
      html("div", { class: "row" }, again),
    ),
  );
}
