/* The first minute: an egg and a name, while engine and brain are on their way. Everything else can wait. */

import { html, onChange, put, setText } from "../dom.ts";
import { NAME_MAX, typedText } from "../items.ts";
import { percentOf, type Load, type PartLoad } from "../loading.ts";
import { seasonOfMonth, skyOf } from "../model.ts";
import { makeRoom, type Room } from "../scene/room.ts";
import { say } from "../strings.ts";
import { isPress, watchStrokes } from "./strokes.ts";

export interface MeetActions {
  adopt(name: string): void;
  importFile(file: File): void;
  joinCard(): void;
  /** Null when there is no pet to go back to. */
  back: (() => void) | null;
  /** The host that pets of this site live on from the start; null when they live in the page. */
  livesOn: string | null;
}

export interface MeetView {
  readonly element: HTMLElement;
  readonly room: Room;
  /** Puts the name field in, again after a refusal. */
  ask(problem?: string): void;
  /** The name is given; the egg is being made ready. */
  waiting(name: string): void;
  update(load: Load): void;
  focus(): void;
}

export function makeMeet(act: MeetActions, { hue }: { hue: number }): MeetView {
  const room = makeRoom();
  const now = new Date();
  const sky = skyOf(now.getTime());
  const title = say("meet.heading");
  room.show({
    away: false,
    stage: "egg",
    asleep: true,
    tucked: false,
    face: "calm",
    place: "nest",
    sky,
    weather: "sun",
    season: seasonOfMonth(now.getMonth()),
    lamp: false,
    thinking: false,
    want: "",
    hue,
    traits: [],
    treasures: [],
    title: say("meet.egg"),
  });
  const touch = html("button", {
    type: "button",
    class: "pet-touch",
    "aria-label": say("meet.stroke"),
    onkeydown: (event: KeyboardEvent) => isPress(event) && stirs(),
  });
  watchStrokes(touch, room, stirs);
  const pane = html("div", { class: "pane home" }, room.element, touch);
  const { x, y, head } = room.place();
  // properties, not a style attribute: the page's policy forbids those
  for (const [name, value] of Object.entries({ x, y, head })) pane.style.setProperty(`--pet-${name}`, String(value));
  /** Nobody is told: it is an egg, and not yet a pet's. */
  function stirs(): void {
    room.act("stroke");
    room.sparks("heart");
  }
  const heading = html("h1", { tabindex: -1 }, title);
  const alert = html("p", { class: "alert", role: "alert", hidden: true });
  const body = html("div", { class: "field" });
  const load = html("div", { class: "loads" });
  const element = html("main", { class: "meet" }, pane, html("div", { class: "words" }, heading, alert, body, load));
  const render = onChange(load);

  function tell(text: string | undefined): void {
    alert.hidden = !text;
    setText(alert, text ?? "");
  }

  function ask(problem?: string): void {
    heading.textContent = title;
    const name = html("input", {
      id: "new-name",
      type: "text",
      autocomplete: "off",
      required: true,
      maxlength: NAME_MAX,
      "aria-describedby": "meet-where",
    });
    const where = act.livesOn === null ? say("meet.where") : say("meet.where.host", { host: act.livesOn });
    const submit = (event: Event) => {
      event.preventDefault();
      const wanted = typedText(name.value);
      if (wanted) return act.adopt(wanted);
      tell(say("meet.name.empty"));
      name.focus();
    };
    name.addEventListener("input", () => tell(undefined));
    put(
      body,
      html("p", { class: "lead" }, say("meet.text")),
      html(
        "form",
        { class: "name-form", onsubmit: submit, novalidate: true },
        html("label", { for: "new-name" }, say("meet.name")),
        html("div", { class: "inline" }, name, html("button", { class: "main", type: "submit" }, say("meet.go"))),
      ),
      html("p", { id: "meet-where", class: "small soft" }, where),
      html(
        "div",
        { class: "row others" },
        fileButton(say("meet.import"), act.importFile),
        html("button", { type: "button", class: "link", onclick: () => act.joinCard() }, say("meet.card")),
        act.back ? html("button", { type: "button", class: "link", onclick: act.back }, say("meet.back")) : null,
      ),
    );
    tell(problem);
    if (problem) name.focus({ preventScroll: true });
  }

  function waiting(name: string): void {
    tell(undefined);
    heading.textContent = say("meet.hello", { name });
    put(body, html("p", { class: "lead", role: "status" }, say("meet.waiting", { name })));
    heading.focus({ preventScroll: true });
  }

  function update(now: Load): void {
    const parts = [part("engine", now.engine), part("brain", now.brain)] as const;
    render([percentOf(now.engine), percentOf(now.brain), now.engine.failed, now.brain.failed], () => [...parts]);
  }
  return { element, room, ask, waiting, update, focus: () => body.querySelector("input")?.focus({ preventScroll: true }) };
}

/** All bytes are there, and are being made into something that runs. */
const ALMOST = 99;

function part(name: "engine" | "brain", load: PartLoad): HTMLElement {
  const text = load.failed
    ? say(`load.${name}.failed`)
    : load.ready
      ? say(`load.${name}.ready`)
      : percentOf(load) === ALMOST
        ? say(`load.${name}.almost`)
        : say(`load.${name}`, { percent: percentOf(load) });
  return html(
    "div",
    { class: "load" },
    html("label", { for: `load-${name}`, class: "small" }, text),
    html("progress", { id: `load-${name}`, max: 100, value: percentOf(load) }),
  );
}

/** A button that asks for a file and hands it over. */
export function fileButton(label: string, take: (file: File) => void, className = "link"): HTMLElement {
  const file = html("input", { type: "file", accept: "application/json,.json", hidden: true, "data-import": true, "aria-label": label });
  file.addEventListener("change", () => {
    const [chosen] = file.files ?? [];
    if (chosen) take(chosen);
    file.value = "";
  });
  return html("span", {}, html("button", { type: "button", class: className, onclick: () => file.click() }, label), file);
}
