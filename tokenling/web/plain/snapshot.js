/* From the host's view of a pet to what the page shows. The only module that knows a save's fields; it reads, never
   writes, and carries no rules: what the pet does and feels has been decided by the engine. */

import { hourOfDay } from "./times.js";

export const METERS = ["fullness", "energy", "mood", "hygiene", "warmth", "bond"];
/** Where one of the five bands ends, in millionths; the engine puts a body into words with the same borders. */
const BAND_BORDERS = [150_000, 350_000, 650_000, 880_000];
/** Local hours at which the light changes. */
const LIGHT = [
  [5, "night"],
  [7.5, "dawn"],
  [18, "day"],
  [21, "dusk"],
  [24, "night"],
];
/** For a save without one; the host would refuse it. */
const HUE_UNKNOWN = 150;
const FACE_OF_FEELING = {
  happy: "glad",
  excited: "glad",
  proud: "glad",
  calm: "calm",
  curious: "curious",
  sleepy: "tired",
  shy: "flat",
  wistful: "flat",
};

/** Everything the page shows of one view, in words of the page. */
export function modelOf(view) {
  const { save } = view;
  return {
    status: view.status,
    epoch: view.epoch,
    revision: view.revision,
    serverTime: view.serverTime,
    thinking: view.thinking === true,
    game: view.game ?? null,
    effects: listOf(view.effects),
    name: save.name,
    stage: save.stage,
    asleep: save.asleep === true,
    lamp: save.lamp === true,
    place: save.place,
    feeling: save.feeling,
    weather: save.weather,
    hue: hueOf(save),
    want: save.want?.kind ?? null,
    zone: save.hosting?.timeZone,
    chatter: save.chatter,
    meters: metersOf(save.body),
    chat: chatOf(listOf(save.chat)),
    offer: save.offer ? { offer: save.offer.kind, item: save.offer.item } : null,
    diary: listOf(save.diary),
    memories: listOf(save.memories).map((memory) => memory.text),
    treasures: listOf(save.treasures),
    events: listOf(save.events),
  };
}

/** Who moves in with a save that the host has not checked yet: only what the page can show of anything. */
export function moverOf(save) {
  return { stage: save.stage, hue: hueOf(save), name: save.name };
}

function hueOf(save) {
  return Number.isInteger(save.character?.hue) ? save.character.hue : HUE_UNKNOWN;
}

/** The colour that the engine will draw from a pet's seed, so that the egg of the first minute is the one that moves
    in. The one draw that the page repeats: a test holds it to the engine's. */
export async function hueOfSeed(petSeed) {
  // a browser may hold plain loopback for an insecure context
  if (!crypto.subtle) return HUE_UNKNOWN;
  const drawn = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`${petSeed}\ncharacter\nhue`));
  return new Uint8Array(drawn).reduce((rest, byte) => (rest * 256 + byte) % 360, 0);
}

/** 0 (lowest) to 4. */
export function bandOf(value) {
  const band = BAND_BORDERS.findIndex((border) => value < border);
  return band === -1 ? BAND_BORDERS.length : band;
}

/** The look on its face: what the body says loudest, else what it last felt. */
export function faceOf({ meters, feeling, stage }) {
  if (bandOf(meters.energy) === 0) return "tired";
  if (bandOf(meters.mood) === 0) return "low";
  if (stage === "egg") return "calm";
  const face = FACE_OF_FEELING[feeling] ?? "calm";
  return bandOf(meters.mood) === 1 && face === "calm" ? "flat" : face;
}

export function skyOf(atMs, zone) {
  const hour = hourOfDay(atMs, zone);
  return LIGHT.find(([end]) => hour < end)[1];
}

function metersOf(body = {}) {
  return Object.fromEntries(METERS.map((meter) => [meter, Number(body[meter] ?? 0)]));
}

/** Each line with a key that stays the same in every later view: the list is cut at its old end, so places move. */
function chatOf(lines) {
  const seen = new Map();
  return lines.map((line) => {
    const name = `${line.atMs} ${line.who} ${line.text}`;
    const count = seen.get(name) ?? 0;
    seen.set(name, count + 1);
    return { key: `${name} ${count}`, mine: line.who === "owner", text: line.text, atMs: line.atMs };
  });
}

function listOf(value) {
  return Array.isArray(value) ? value : [];
}
