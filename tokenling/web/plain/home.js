/* The room, how the pet is, and care: the part of the page that is always in sight. */

import { html, put } from "./dom.js";
import { icon } from "./icons.js";
import { makeScene } from "./scene.js";
import { METERS, bandOf, faceOf, skyOf } from "./snapshot.js";
import { bandWords, nameOf, say } from "./strings.js";

const CARE = ["feed", "wash", "tuck", "stroke", "lamp"];
/** The lowest two bands ask for something: they are marked, in words and colour, never with alarm. */
const LOW_BANDS = 2;
/** A young bond is no fault. */
const NEVER_LOW = "bond";

/** Words this fresh hang by the pet even when they have been read. A guess: about as long as a look at the page. */
const FRESH_MS = 3 * 60_000;

/** `act.care(action)` does it, `act.listen()` leads to the conversation. */
export function makeHome(act) {
  const scene = makeScene();
  const speech = makeSpeech(act);
  const meters = html("ul", { class: "meters" });
  const care = html("div", { class: "care", role: "group", "aria-label": say("care.label") });
  const buttons = Object.fromEntries(CARE.map((action) => [action, careButton(action, act)]));
  put(care, ...Object.values(buttons));
  const element = html("section", { class: "home" }, html("div", { class: "stage-box" }, scene.root, speech.element), meters, care);
  let lastBands = "";

  function update(model, nowMs, unread) {
    speech.show(model, nowMs, unread);
    scene.show(lookOf(model, nowMs));
    const bands = JSON.stringify([model.meters, model.name]);
    if (bands !== lastBands) {
      meters.setAttribute("aria-label", say("meters.label", { name: model.name }));
      put(
        meters,
        ...METERS.filter((meter) => meter in model.meters).map((meter) => meterRow(meter, model.meters[meter])),
      );
      lastBands = bands;
    }
    buttons.lamp.setAttribute("aria-pressed", String(model.lamp));
    for (const button of Object.values(buttons)) button.disabled = model.status !== "active";
  }
  return { element, update, play: scene.play };
}

/** The pet's latest words beside it, whichever tab is open. */
function makeSpeech(act) {
  const words = html("span", { class: "words", dir: "auto" });
  const bubble = html("button", { class: "speech", type: "button", onclick: () => act.listen() }, words);
  const element = html("div", { class: "over-pet", hidden: true }, bubble);

  function show({ chat, name, thinking }, nowMs, unread) {
    const last = chat.findLast((line) => !line.mine);
    element.hidden = !last || thinking || !(unread || nowMs - last.atMs < FRESH_MS);
    if (element.hidden || words.textContent === last.text) return;
    words.textContent = last.text;
    bubble.setAttribute("aria-label", say("talk.speech", { name, text: last.text }));
  }
  return { element, show };
}

export function lookOf(model, nowMs) {
  const sky = skyOf(nowMs, model.zone);
  const face = faceOf(model);
  const state = model.asleep ? "asleep" : "awake";
  const blanks = {
    name: model.name,
    stage: nameOf("stage", model.stage),
    state: say(`state.${state}`),
    face: say(`face.${face}`),
  };
  const title = say("scene.title", { ...blanks, sky: say(`sky.${sky}`) });
  const { stage, asleep, weather, lamp, thinking, place, hue, want } = model;
  return { stage, asleep, face, sky, weather, lamp, thinking, place, hue, want, title };
}

function careButton(action, act) {
  return html(
    "button",
    { type: "button", "data-care": action, onclick: () => act.care(action) },
    icon(action),
    say(`care.${action}`),
  );
}

function meterRow(meter, value) {
  const band = bandOf(value);
  const word = bandWords(meter)[band];
  const name = say(`meter.${meter}`);
  const lights = [0, 1, 2, 3, 4].map((place) => html("i", { class: place <= band ? "on" : "" }));
  const label = say("meter.value", { meter: name, word, band: band + 1 });
  return html(
    "li",
    {
      class: band < LOW_BANDS && meter !== NEVER_LOW ? "meter low" : "meter",
      "data-meter": meter,
      "data-band": band,
    },
    html("span", { class: "unseen" }, label),
    icon(meter),
    html("span", { class: "called", "aria-hidden": "true" }, name),
    html("span", { class: "bands", "aria-hidden": "true" }, ...lights),
    html("span", { class: "word", "aria-hidden": "true" }, word),
  );
}
