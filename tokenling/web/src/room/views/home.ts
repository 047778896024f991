/* The part that is always in sight: the room with its pet, how the pet is, and the shelf with what one can do for it. */

import { html, onChange } from "../dom.ts";
import { icon, picture } from "../icons.ts";
import { CARE } from "../items.ts";
import { METERS, bandOf, faceOf, skyOf, type Meter, type Model } from "../model.ts";
import { makeRoom, type Look, type Room } from "../scene/room.ts";
import { bandWord, nameOf, say } from "../strings.ts";
import { makeSpeech } from "./speech.ts";
import { isPress, watchStrokes } from "./strokes.ts";

/** The lowest two bands ask for something: they are marked, in words and colour, never with alarm. */
const LOW_BANDS = 2;
/** A young bond is no fault. */
const NEVER_LOW = "bond";
export interface HomeActions {
  care(action: string): void;
  offer(): void;
  stroke(): void;
  /** Leads to the conversation that the bubble by the pet is from. */
  listen(): void;
  openLife(): void;
}

export interface HomeView {
  readonly element: HTMLElement;
  readonly room: Room;
  /** Shows a sentence in the room for a moment. */
  celebrate(text: string): void;
  update(model: Model, nowMs: number, state: { unread: boolean; quiet: boolean }): void;
}

export function makeHome(act: HomeActions): HomeView {
  const room = makeRoom();
  const speech = makeSpeech(act);
  const touch = html("button", { type: "button", class: "pet-touch", onkeydown: (event: KeyboardEvent) => isPress(event) && act.stroke() });
  watchStrokes(touch, room, () => act.stroke());
  const status = html("ul", { class: "status" });
  const buttons = [...CARE.map((action) => careButton(action, () => act.care(action))), careButton("gift", () => act.offer())];
  const shelf = html("div", { class: "shelf", role: "group", "aria-label": say("care.label") }, ...buttons);
  const moment = makeMoment();
  const pane = html("div", { class: "pane" }, room.element, touch, speech.element, moment.element);
  const element = html("section", { class: "home", "aria-label": say("home.label") }, pane, status, shelf);
  const render = onChange(status);

  function layOut(): void {
    const { x, y, head } = room.place();
    // properties, not a style attribute: the page's policy forbids those
    for (const [name, value] of Object.entries({ x, y, head })) pane.style.setProperty(`--pet-${name}`, String(value));
  }

  function update(model: Model, nowMs: number, state: { unread: boolean; quiet: boolean }): void {
    room.show(lookOf(model, nowMs));
    layOut();
    speech.show(model, nowMs, state);
    touch.setAttribute("aria-label", say("care.stroke.pet", { name: model.name }));
    touch.disabled = !model.present || model.stage === "egg";
    status.setAttribute("aria-label", say("status.label", { name: model.name }));
    render([model.meters, model.name], () => METERS.map((meter) => gauge(meter, model.meters[meter])));
    for (const button of buttons) {
      button.disabled = !model.present;
      if (button.dataset.care === "lamp") button.setAttribute("aria-pressed", String(model.lamp));
    }
  }
  return { element, room, celebrate: moment.show, update };
}

/** As long as one looks at something that happens once. */
const MOMENT_MS = 5200;

/** The live region has said it: here it is only seen. */
function makeMoment() {
  const text = html("p", {});
  const element = html("div", { class: "moment", "aria-hidden": "true", hidden: true }, text);
  let timer = 0;
  function show(words: string): void {
    text.textContent = words;
    element.hidden = false;
    clearTimeout(timer);
    timer = window.setTimeout(() => (element.hidden = true), MOMENT_MS);
  }
  return { element, show };
}

export function lookOf(model: Model, nowMs: number): Look {
  const sky = skyOf(nowMs, model.zone);
  const face = faceOf(model);
  const blanks = {
    name: model.name,
    stage: nameOf("stage", model.stage),
    state: say(model.stage === "egg" ? "state.egg" : model.asleep ? "state.asleep" : "state.awake"),
    face: say(`face.${face}`),
    place: nameOf("place", model.place),
    sky: say(`sky.${sky}`),
    weather: say(`weather.now.${model.weather}`),
  };
  const title = model.away
    ? say("scene.between", blanks)
    : say(model.stage === "egg" ? "scene.egg" : model.asleep ? "scene.asleep" : "scene.title", blanks);
  const { away, stage, asleep, tucked, place, weather, season, lamp, thinking, want, hue, traits, treasures } = model;
  return { away, stage, asleep, tucked, face, place, sky, weather, season, lamp, thinking, want, hue, traits, treasures, title };
}

function careButton(action: string, run: () => void): HTMLButtonElement {
  return html("button", { type: "button", "data-care": action, onclick: run }, picture(action), html("span", {}, say(`care.${action}`)));
}

/** An icon with five petals around it, as many lit as the band says. */
function gauge(meter: Meter, value: number): HTMLElement {
  const band = bandOf(value);
  const word = bandWord(meter, band);
  const low = band < LOW_BANDS && meter !== NEVER_LOW;
  const petals = [0, 1, 2, 3, 4].map((place) => html("i", { class: place <= band ? "on" : "" }));
  return html(
    "li",
    { class: low ? "gauge low" : "gauge", "data-meter": meter, "data-band": band, title: `${say(`meter.${meter}`)}: ${word}` },
    html("span", { class: "unseen" }, say("meter.value", { meter: say(`meter.${meter}`), word, band: band + 1 })),
    icon(meter),
    html("span", { class: "petals", "aria-hidden": "true" }, ...petals),
    html("span", { class: "word", "aria-hidden": "true" }, word),
  );
}
