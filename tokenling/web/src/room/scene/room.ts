/* The room and who lives in it: layers that are painted once and a few groups that move. `show` sets what is, `act` plays
   what happens; neither decides anything about the pet. */

import { html, put, svg } from "../dom.ts";
import { HATCH_MS } from "../effects.ts";
import { HEAD, STAGES, makeCreature, marksOf, sproutOf } from "./creature.ts";
import { keptThings, makeFire } from "./indoors.ts";
import { lightOf, lightUp } from "./light.ts";
import { OUTDOORS, PLACES, PLACE_OF_NOBODY, type Place } from "./places.ts";
import { VIEW, makeSky } from "./sky.ts";
import { spark, type SparkKind } from "./sparks.ts";
import { thing } from "./things.ts";

export interface Look {
  /** It is on its way to another home. */
  away: boolean;
  stage: string;
  asleep: boolean;
  tucked: boolean;
  face: string;
  place: string;
  sky: string;
  weather: string;
  season: string;
  lamp: boolean;
  thinking: boolean;
  want: string;
  hue: number;
  traits: readonly string[];
  treasures: readonly string[];
  /** In words, for those who do not see it. */
  title: string;
}

const SPARK_MS = 2600;
const PLACE_FADE_MS = 620;

export interface Room {
  readonly element: HTMLElement;
  show(look: Look): void;
  /** Plays a movement of the pet once, with a thing in its paws if it has one. */
  act(movement: string, item?: string): void;
  sparks(kind: SparkKind): void;
  /** Where the pet looks, from -1 to 1 each way. */
  gaze(x: number, y: number): void;
  blink(): void;
  /** It comes in. */
  arrive(): void;
  /** Where it stands and how high it reaches, in the drawing's units: what hangs by it is laid out by that. */
  place(): { x: number; y: number; head: number };
}

export function makeRoom(): Room {
  const sky = makeSky();
  const backs = html("div", { class: "layer backs" });
  const fronts = html("div", { class: "layer fronts" });
  const creature = makeCreature();
  const sparkLayer = svg("g", { class: "sparks" });
  const spot = svg("g", { class: "spot" }, shadow(), creature, thought(), wish(), snore(), sparkLayer);
  const pet = svg(
    "svg",
    { class: "layer pet", viewBox: VIEW.viewBox, preserveAspectRatio: VIEW.preserveAspectRatio, role: "img" },
    svg("g", { class: "crossing" }, spot),
  );
  pet.prepend(svg("defs", {}, glowFill()));
  const element = html("div", { class: "room" }, sky, backs, pet, fronts);
  let shown: Look | null = null;
  let shownPlace = "";
  let lit = "";
  let actTimer = 0;

  function show(look: Look): void {
    const place = look.stage in HEAD && look.stage !== "egg" && look.place in PLACES ? look.place : PLACE_OF_NOBODY;
    if (place !== shownPlace) enter(place, shownPlace === "");
    shownPlace = place;
    shown = look;
    setLook(element, look, place);
    pet.setAttribute("aria-label", look.title);
    const kept = backs.querySelector(".current .kept");
    if (kept && kept.getAttribute("data-kept") !== look.treasures.join()) {
      put(kept, ...keptThings(look.treasures));
      kept.setAttribute("data-kept", look.treasures.join());
    }
    setLight(look, place);
  }

  /** Colours are worked out when something they hang on has changed; before the room stands in the page there are none. */
  function setLight({ sky: hour, weather, season, lamp, hue, treasures }: Look, place: string): void {
    const state = [hour, weather, season, lamp, hue, place, treasures].join();
    if (state === lit) return;
    if (!element.isConnected) return void requestAnimationFrame(() => element.isConnected && shown && setLight(shown, shownPlace));
    lit = state;
    const { still, near } = lightOf({ sky: hour, weather, outdoors: OUTDOORS.has(place), lamp });
    const back = backs.querySelector(".current");
    for (const layer of [sky, back]) if (layer) lightUp(layer, still);
    for (const layer of [creature, fronts.querySelector(".current")]) if (layer) lightUp(layer, near);
  }

  /** Crosses over to another place: the new one is laid above the old, which goes when it cannot be seen any more. */
  function enter(name: string, atOnce: boolean): void {
    const place = PLACES[name] as Place;
    const { x, y, size } = place.vista;
    sky.querySelector(".vista")?.setAttribute("transform", `translate(${x} ${y}) scale(${size})`);
    sky.classList.toggle("framed", place.seen !== null);
    for (const [index, edge] of ["left", "top", "right", "bottom"].entries())
      sky.style.setProperty(`--seen-${edge}`, String(place.seen?.[index] ?? 0));
    lay(backs, stillOf(name, place), atOnce);
    lay(fronts, place.front(), atOnce);
    spot.setAttribute("transform", `translate(${place.spot.x} ${place.spot.y}) scale(${place.spot.size})`);
    if (!atOnce) replay(pet, "arriving");
  }

  function act(movement: string, item = ""): void {
    if (element.dataset.act === "hatch") return; // it hatches once, and nothing cuts that short
    put(creature.querySelector(".held") as Element, item ? thing(item) : null);
    element.dataset.act = "";
    // the reading makes the browser notice that the movement ended, so the same one can begin again
    void element.offsetWidth;
    element.dataset.act = movement;
    clearTimeout(actTimer);
    actTimer = window.setTimeout(
      () => {
        element.dataset.act = "";
        put(creature.querySelector(".held") as Element);
      },
      movement === "hatch" ? HATCH_MS : ACT_MS,
    );
  }

  function sparks(kind: SparkKind): void {
    const height = HEAD[element.dataset.stage ?? "egg"] ?? 150;
    for (const [index, dx] of [-46, 2, 48].entries()) {
      const made = spark(kind, dx, -height * 0.72 - (index % 2) * 26, index);
      sparkLayer.append(made);
      setTimeout(() => made.remove(), SPARK_MS);
    }
  }

  function gaze(x: number, y: number): void {
    element.style.setProperty("--gaze-x", `${(x * 3.2).toFixed(2)}px`);
    element.style.setProperty("--gaze-y", `${(y * 2.4).toFixed(2)}px`);
  }

  function blink(): void {
    element.dataset.blink = "true";
    setTimeout(() => (element.dataset.blink = "false"), 130);
  }

  return { element, show, act, sparks, gaze, blink, arrive: () => replay(pet, "arriving"), place: () => placeOf(element) };
}

const ACT_MS = 3600;
/** How much lower it is when it lies down. */
const LYING = 0.86;

function placeOf(element: HTMLElement): { x: number; y: number; head: number } {
  const { stage = "egg", asleep, place = PLACE_OF_NOBODY } = element.dataset;
  const { spot } = PLACES[place] ?? (PLACES[PLACE_OF_NOBODY] as Place);
  const lies = asleep === "true" && stage !== "egg" ? LYING : 1;
  return { x: spot.x, y: spot.y, head: (HEAD[stage] ?? 150) * spot.size * lies };
}

function setLook(element: HTMLElement, look: Look, place: string): void {
  const stage = STAGES.includes(look.stage) ? look.stage : "egg";
  Object.assign(element.dataset, {
    stage,
    place,
    outdoors: String(OUTDOORS.has(place)),
    away: String(look.away),
    asleep: String(look.asleep),
    tucked: String(look.tucked && look.asleep),
    face: look.face,
    sky: look.sky,
    weather: look.weather,
    season: look.season,
    lamp: String(look.lamp),
    thinking: String(look.thinking),
    want: look.want,
    sprout: sproutOf(look.traits),
    marks: marksOf(look.traits),
  });
  // properties, not a style attribute: the page's policy forbids those
  element.style.setProperty("--hue", String(look.hue));
}

/** A still with the light that falls into it, and the fire, which flickers and so lies beside. */
function stillOf(name: string, place: Place): SVGSVGElement {
  const still = place.back();
  still.append(glow());
  if (name === "hearth") still.append(makeFire());
  return still;
}

function lay(layer: HTMLElement, still: SVGSVGElement | null, atOnce: boolean): void {
  const old = [...layer.children];
  for (const gone of old) gone.classList.replace("current", "leaving");
  if (still) {
    still.classList.add("current");
    if (!atOnce) still.classList.add("coming");
    layer.append(still);
  }
  setTimeout(() => old.forEach((gone) => gone.remove()), atOnce ? 0 : PLACE_FADE_MS);
}

function replay(element: Element, name: string): void {
  element.classList.remove(name);
  void (element as SVGElement).getBoundingClientRect();
  element.classList.add(name);
}

function shadow(): SVGElement {
  return svg("ellipse", { class: "shadow", cx: 0, cy: 3, rx: 84, ry: 13 });
}

function glowFill(): SVGElement {
  const stop = (offset: number, name: string) => svg("stop", { offset, class: name });
  return svg("radialGradient", { id: "glow" }, stop(0, "glow-in"), stop(0.42, "glow-mid"), stop(1, "glow-out"));
}

/** Warm light of lamp, fire and sun, painted into the still. */
function glow(): SVGElement {
  return svg(
    "g",
    { class: "glow" },
    svg("circle", { class: "lamp-glow", cx: 352, cy: 92, r: 430, fill: "url(#glow)" }),
    svg("ellipse", { class: "fire-light", cx: 470, cy: 450, rx: 380, ry: 300, fill: "url(#glow)" }),
    svg("path", { class: "beam-of-sun", d: "M96 200 L236 150 L520 640 L150 640 Z" }),
  );
}

function cloud(...inside: SVGElement[]): SVGElement[] {
  return [
    svg("circle", { class: "puff", cx: -14, cy: 52, r: 5 }),
    svg("circle", { class: "puff", cx: -6, cy: 36, r: 8 }),
    svg("path", { class: "puff", d: "M-34 10 C-46 -4 -36 -26 -18 -24 C-10 -38 16 -38 22 -24 C40 -26 48 -4 36 10 C30 22 -26 24 -34 10 Z" }),
    ...inside,
  ];
}

function thought(): SVGElement {
  const dots = [-16, 1, 18].map((cx, index) => svg("circle", { class: `dot dot-${index}`, cx, cy: -5, r: 4.6 }));
  return svg("g", { class: "thought" }, svg("g", { class: "floating" }, ...cloud(...dots)));
}

/** What it asks for, as a picture in a bubble. */
function wish(): SVGElement {
  const shape = (name: string, d: string) => svg("path", { class: name, d });
  return svg(
    "g",
    { class: "wish" },
    svg(
      "g",
      { class: "floating" },
      ...cloud(
        shape("wish-food", "M-15 -6 H17 A16 16 0 0 1 -15 -6 Z M-6 -12 q5 -4 2 -9 M6 -12 q5 -4 2 -9"),
        shape("wish-wash", "M1 -22 C10 -11 14 -6 12 1 A12 12 0 0 1 -10 1 C-12 -6 -8 -11 1 -22 Z"),
        shape("wish-warmth", "M1 11 C-15 10 -13 -6 -4 -12 C-4 -4 -1 -6 -1 -21 C12 -10 17 10 1 11 Z"),
        shape("wish-company", "M1 10 C-20 -5 -11 -20 1 -10 C13 -20 22 -5 1 10 Z"),
      ),
    ),
  );
}

function snore(): SVGElement {
  return svg(
    "g",
    { class: "zzz" },
    svg("path", { d: "M0 10 h15 l-15 18 h15" }),
    svg("path", { d: "M24 -18 h11 l-11 13 h11" }),
    svg("path", { d: "M42 -40 h8 l-8 10 h8" }),
  );
}
