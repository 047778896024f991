/* The pet's latest words beside it, whichever tab is open; while it writes, the words so far. They stay as long as one reads
   and then fade: the conversation keeps them. */

import { html, setText } from "../dom.ts";
import type { Model } from "../model.ts";
import { PET_LANGUAGE, say } from "../strings.ts";

/** Words older than this are not said again when the page is opened. A guess: about as long as a look at the page. */
const FRESH_MS = 3 * 60_000;
/** How long words stay: time to notice them and time to read them, at about 14 letters a second. */
const NOTICE_MS = 3500;
const LETTER_MS = 70;
const SHOWN_MS_MAX = 20_000;
/** After a pointer or the focus has left them. */
const LINGER_MS = 2000;
/** The fade's, in app.css. */
const FADE_MS = 600;

export interface Speech {
  readonly element: HTMLElement;
  show(model: Model, nowMs: number, state: { unread: boolean; quiet: boolean }): void;
}

export function readingMs(text: string): number {
  return Math.min(SHOWN_MS_MAX, NOTICE_MS + LETTER_MS * [...text].length);
}

export function makeSpeech(act: { listen(): void }): Speech {
  const words = html("span", { class: "words", dir: "auto", lang: PET_LANGUAGE });
  const bubble = html("button", { class: "speech", type: "button", onclick: () => act.listen() }, words);
  const element = html("div", { class: "over-pet", hidden: true }, bubble);
  let timer = 0;
  /** The line that the clock runs for, and the one that has had its time. */
  let [timed, faded] = ["", ""];
  let held = false;
  for (const on of ["pointerenter", "focus"]) bubble.addEventListener(on, () => hold(true));
  for (const off of ["pointerleave", "blur"]) bubble.addEventListener(off, () => hold(false));

  function show(model: Model, nowMs: number, { unread, quiet }: { unread: boolean; quiet: boolean }): void {
    const { chat, name, thinking, away, words: writing } = model;
    const soFar = spokenOf(writing);
    const last = chat.findLast((line) => !line.mine);
    const line = !soFar && !thinking && last && last.key !== faded && (unread || nowMs - last.atMs < FRESH_MS) ? last : null;
    const spoken = soFar || line?.text || "";
    if (quiet || away || spoken === "") return hide();
    element.hidden = false;
    element.classList.remove("fading");
    setText(words, spoken);
    bubble.setAttribute("aria-label", say("talk.speech", { name, text: spoken }));
    if (line && line.key !== timed && !document.hidden) {
      timed = line.key;
      fadeAfter(readingMs(line.text));
    } else if (!line) stopClock();
  }

  function fadeAfter(ms: number): void {
    clearTimeout(timer);
    timer = window.setTimeout(() => {
      if (held) return;
      faded = timed;
      element.classList.add("fading");
      timer = window.setTimeout(hide, FADE_MS);
    }, ms);
  }

  function hold(on: boolean): void {
    held = on;
    if (!on && timed !== "") fadeAfter(LINGER_MS);
  }

  function stopClock(): void {
    clearTimeout(timer);
    timed = "";
  }

  function hide(): void {
    stopClock();
    element.hidden = true;
  }
  return { element, show };
}

/** What of a reply that is being written can be shown: no tag, not even half of one. */
export function spokenOf(writing: string | null): string {
  return (writing ?? "")
    .replace(/\[[^\]]*\]?/g, "")
    .replace(/\s+/g, " ")
    .trim();
}
