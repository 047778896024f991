/* Questions on top of the page, as native dialogs: the browser keeps the focus inside, Escape closes, and the focus goes
   back to where it was. */

import { html, put, type Child } from "../dom.ts";
import { icon } from "../icons.ts";
import { say } from "../strings.ts";

export interface Sheet {
  readonly element: HTMLDialogElement;
  /** Replaces what stands under the heading. */
  show(...content: Child[]): void;
  heading(text: string): void;
  close(): void;
  readonly closed: Promise<void>;
}

let count = 0;

/** Opens a dialog. A wide one is for what is read, not answered. */
export function openSheet(heading: string, { wide = false } = {}): Sheet {
  const id = `sheet-${(count += 1)}`;
  const before = document.activeElement;
  const title = html("h2", { id, tabindex: -1 }, heading);
  const body = html("div", { class: "sheet-body" });
  const shut = html(
    "button",
    { type: "button", class: "round plain", "aria-label": say("sheet.close"), onclick: () => element.close() },
    icon("close"),
  );
  const element = html(
    "dialog",
    { class: wide ? "sheet wide" : "sheet", "aria-labelledby": id },
    html("header", { class: "sheet-top" }, title, shut),
    body,
  );
  const closed = new Promise<void>((resolve) => {
    element.addEventListener("close", () => {
      element.remove();
      if (before instanceof HTMLElement || before instanceof SVGElement) before.focus({ preventScroll: true });
      resolve();
    });
  });
  // pressed and let go on the backdrop: a text that is selected past the edge does not close the sheet
  let pressedOutside = false;
  element.addEventListener("pointerdown", (event) => (pressedOutside = event.target === element));
  element.addEventListener("click", (event) => event.target === element && pressedOutside && element.close());
  document.body.append(element);
  element.showModal();
  title.focus();
  return {
    element,
    closed,
    show: (...content) => put(body, ...content),
    heading: (text) => (title.textContent = text),
    close: () => element.close(),
  };
}

/** Closes what is open: whom it is about has gone from the screen. */
export function closeSheets(): void {
  for (const sheet of document.querySelectorAll<HTMLDialogElement>("dialog.sheet[open]")) sheet.close();
}

export interface Pick {
  item: string;
  label: string;
  picture?: Node;
  note?: string;
}

/** Lets the owner pick one of several. Resolves with the item, or null. */
export async function pick(heading: string, picks: readonly Pick[]): Promise<string | null> {
  let chosen: string | null = null;
  const sheet = openSheet(heading);
  const choose = (item: string) => () => {
    chosen = item;
    sheet.close();
  };
  const buttons = picks.map(({ item, label, picture, note }) =>
    html(
      "button",
      { type: "button", class: "pick", "data-item": item, onclick: choose(item) },
      picture,
      html("span", {}, label),
      note ? html("small", {}, note) : null,
    ),
  );
  sheet.show(html("div", { class: "picks" }, ...buttons));
  await sheet.closed;
  return chosen;
}

/** Asks before something is done that cannot be taken back. Resolves with whether it is wanted. */
export async function confirm(heading: string, text: readonly string[], go: string, { danger = false } = {}): Promise<boolean> {
  let sure = false;
  const sheet = openSheet(heading);
  const yes = () => {
    sure = true;
    sheet.close();
  };
  sheet.show(
    ...text.map((line) => html("p", {}, line)),
    html(
      "div",
      { class: "row end" },
      html("button", { type: "button", onclick: () => sheet.close() }, say("sheet.cancel")),
      html("button", { type: "button", class: danger ? "danger" : "main", onclick: yes }, go),
    ),
  );
  await sheet.closed;
  return sure;
}
