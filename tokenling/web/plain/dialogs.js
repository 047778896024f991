/* Questions on top of the page, as native dialogs: the browser keeps the focus inside and Escape closes. */

import { html, put } from "./dom.js";
import { say } from "./strings.js";

/** Shows `content` under a heading; `close` is handed to it. Resolves when the dialog is gone. */
export function openSheet(heading, content) {
  return new Promise((resolve) => {
    const dialog = html("dialog", { "aria-labelledby": "sheet-heading" });
    const close = () => dialog.close();
    put(dialog, html("div", { class: "sheet" }, html("h2", { id: "sheet-heading" }, heading), ...content(close)));
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve();
    });
    dialog.addEventListener("click", (event) => event.target === dialog && close());
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** Resolves with the chosen item, or null. `items`: `[{item, label}]`. */
export async function pick(heading, items) {
  let chosen = null;
  await openSheet(heading, (close) => {
    const choose = (item) => () => {
      chosen = item;
      close();
    };
    const buttons = items.map(({ item, label }) => html("button", { type: "button", onclick: choose(item) }, label));
    return [
      html("div", { class: "picks" }, ...buttons),
      html("button", { class: "link", type: "button", onclick: close }, say("dialog.cancel")),
    ];
  });
  return chosen;
}

/** Asks before a pet is deleted. The owner types its name, and may keep a file first. Resolves with true or false. */
export async function confirmDelete(name, keepFile) {
  let sure = false;
  await openSheet(say("delete.heading", { name }), (close) => {
    const go = html("button", { class: "danger", type: "submit", disabled: true }, say("delete.go"));
    const typed = html("input", { id: "typed-name", type: "text", autocomplete: "off" });
    typed.addEventListener("input", () => (go.disabled = !sameName(typed.value, name)));
    const submit = (event) => {
      event.preventDefault();
      if (go.disabled) return;
      sure = true;
      close();
    };
    const label = html("label", { for: "typed-name" }, say("delete.type"));
    const keep = html("button", { class: "main", type: "button", onclick: close }, say("delete.keep", { name }));
    const file = html("button", { type: "button", onclick: keepFile }, say("settings.export"));
    const form = html("form", { class: "field", onsubmit: submit }, label, typed, html("div", { class: "row" }, go));
    return [html("p", {}, say("delete.text", { name })), html("div", { class: "row" }, keep, file), form];
  });
  return sure;
}

function sameName(typed, name) {
  return typed.trim().toLowerCase() === name.trim().toLowerCase();
}
