/* From a home's snapshot to what the page shows. The only module that knows a save's fields; it reads, never writes, and
   carries no rules: what the pet does and feels has been decided by the engine. */

import type { Effect, HomeSnapshot, Json, JsonObject, Link, PendingCommand } from "../contract.ts";
import { hourOfDay } from "./times.ts";

export const METERS = ["fullness", "energy", "mood", "hygiene", "warmth", "bond"] as const;
export type Meter = (typeof METERS)[number];
export type Meters = Record<Meter, number>;

/** Where one of the five bands ends, in millionths; the engine puts a body into words with the same borders. */
const BAND_BORDERS = [150_000, 350_000, 650_000, 880_000];
/** Local hours at which the light changes. */
const LIGHT: readonly (readonly [number, string])[] = [
  [5, "night"],
  [7.5, "dawn"],
  [18, "day"],
  [21, "dusk"],
  [24, "night"],
];
/** For a save without one; the engine would refuse it. */
const HUE_UNKNOWN = 150;
/** The engine's bound on times, the year 2200. A host may send any number, and no clock can write most of them. */
const TIME_MS_MAX = 7_258_118_400_000;
/** A host's save is shown before this page's rules have judged it, and may be of any size. The longest list that the engine
    keeps has a page a day for a year; its longest text is 400 code points. */
const LIST_MAX = 400;
const TEXT_UNITS_MAX = 1000;
const FACE_OF_FEELING: Record<string, string> = {
  happy: "glad",
  excited: "excited",
  proud: "proud",
  calm: "calm",
  curious: "curious",
  sleepy: "tired",
  shy: "shy",
  wistful: "wistful",
};

export interface ChatLine {
  /** The same in every later view. */
  key: string;
  mine: boolean;
  text: string;
  atMs: number;
  turn: string;
}

export interface DiaryPage {
  date: string;
  text: string;
  atMs: number;
  keepsake: string;
  turn: string;
}

export interface PetEvent {
  kind: string;
  atMs: number;
  item: string;
  n: number;
}

export interface Model {
  kind: "local" | "remote";
  host: string | null;
  link: Link;
  status: string;
  error: string | null;
  epoch: number;
  revision: number;
  copyAtMs: number | null;
  /** It is on its way between two homes. */
  away: boolean;
  /** Whether the pet can be with its owner now. */
  present: boolean;
  name: string;
  stage: string;
  asleep: boolean;
  tucked: boolean;
  lamp: boolean;
  place: string;
  feeling: string;
  weather: string;
  season: string;
  hue: number;
  traits: string[];
  want: string;
  zone: string | undefined;
  brainId: string;
  chatter: number;
  bornMs: number;
  /** When its owner last did something. */
  ownerMs: number;
  bestScore: number;
  games: number;
  meters: Meters;
  chat: ChatLine[];
  offer: { kind: string; item: string; expiresMs: number } | null;
  game: { id: string; startedMs: number; expiresMs: number } | null;
  diary: DiaryPage[];
  memories: string[];
  treasures: string[];
  events: PetEvent[];
  effects: Effect[];
  /** The id that its next effect will have. */
  nextEffect: number;
  thinking: boolean;
  words: string | null;
  pending: PendingCommand[];
  serverTime: number;
}

const PRESENT = new Set<Link>(["running", "catching_up", "live", "asking", "lost", "offline"]);

/** Everything the page shows of a pet, or null while this browser has no copy of it. */
export function modelOf(snapshot: HomeSnapshot): Model | null {
  const { view } = snapshot;
  if (!view) return null;
  const { save } = view;
  const hosting = objectOf(save.hosting);
  const character = objectOf(save.character);
  return {
    kind: snapshot.kind,
    host: snapshot.host,
    link: snapshot.link,
    status: textOf(view.status),
    error: typeof view.error === "string" ? view.error : null,
    epoch: view.epoch,
    revision: view.revision,
    copyAtMs: snapshot.copyAtMs === null ? null : timeOf(snapshot.copyAtMs),
    away: isAway(snapshot.move),
    present: view.status === "active" && PRESENT.has(snapshot.link),
    name: textOf(save.name),
    stage: listedOf(save.stage),
    asleep: save.asleep === true,
    tucked: save.tucked === true,
    lamp: save.lamp === true,
    place: listedOf(save.place),
    feeling: listedOf(save.feeling),
    weather: listedOf(save.weather),
    season: listedOf(save.season),
    hue: hueOf(character.hue),
    traits: textsOf(character.traits).map(listedOf),
    want: listedOf(objectOf(save.want).kind),
    zone: textOf(hosting.timeZone) || undefined,
    brainId: textOf(hosting.brainId),
    chatter: numberOf(save.chatter),
    bornMs: timeOf(save.bornMs),
    ownerMs: timeOf(save.ownerMs),
    bestScore: numberOf(save.bestScore),
    games: numberOf(save.games),
    meters: metersOf(objectOf(save.body)),
    chat: chatOf(objectsOf(save.chat)),
    offer: offerOf(save.offer),
    game: gameOf(view.game ?? save.game ?? null),
    diary: objectsOf(save.diary).map(pageOf),
    memories: objectsOf(save.memories).map((memory) => textOf(memory.text)),
    treasures: textsOf(save.treasures).map(listedOf),
    events: objectsOf(save.events).map(eventOf),
    effects: effectsOf(view.effects),
    nextEffect: Number.isSafeInteger(save.nextEffect) ? numberOf(save.nextEffect) : Number.MAX_SAFE_INTEGER,
    thinking: view.thinking || snapshot.words !== null,
    words: snapshot.words,
    pending: snapshot.pending,
    serverTime: timeOf(view.serverTime),
  };
}

/** From when the old home lets go until the new one has it. */
function isAway(move: HomeSnapshot["move"]): boolean {
  return (move?.to === "remote" && move.step === "activate") || (move?.to === "local" && move.step === "park");
}

/** 0 (lowest) to 4. */
export function bandOf(value: number): number {
  const band = BAND_BORDERS.findIndex((border) => value < border);
  return band === -1 ? BAND_BORDERS.length : band;
}

/** The look on its face: what the body says loudest, else what it last felt. */
export function faceOf({ meters, feeling, stage }: Pick<Model, "meters" | "feeling" | "stage">): string {
  if (stage === "egg") return "calm";
  if (bandOf(meters.energy) === 0) return "tired";
  if (bandOf(meters.mood) === 0) return "low";
  const face = FACE_OF_FEELING[feeling] ?? "calm";
  return bandOf(meters.mood) === 1 && face === "calm" ? "flat" : face;
}

export function skyOf(atMs: number, zone?: string): string {
  const hour = hourOfDay(atMs, zone);
  return LIGHT.find(([end]) => hour < end)?.[1] ?? "night";
}

/** The season of a month where no pet says one yet: the engine's own table. */
export function seasonOfMonth(month: number): string {
  return (
    ["winter", "winter", "spring", "spring", "spring", "summer", "summer", "summer", "autumn", "autumn", "autumn", "winter"][month] ??
    "summer"
  );
}

/** The colour that the engine will draw from a pet's seed, so that the egg of the first minute is the one that is adopted.
    The one draw that the page repeats: a test holds it to the engine's. */
export async function hueOfSeed(petSeed: string): Promise<number> {
  // a browser may hold plain loopback for an insecure context
  if (!globalThis.crypto?.subtle) return HUE_UNKNOWN;
  const drawn = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`${petSeed}\ncharacter\nhue`));
  return new Uint8Array(drawn).reduce((rest, byte) => (rest * 256 + byte) % 360, 0);
}

function metersOf(body: JsonObject): Meters {
  return Object.fromEntries(METERS.map((meter) => [meter, numberOf(body[meter])])) as Meters;
}

/** Each line with a key that stays the same in every later view: the list is cut at its old end, so places move. */
function chatOf(lines: JsonObject[]): ChatLine[] {
  const seen = new Map<string, number>();
  return lines.map((line) => {
    const name = `${numberOf(line.atMs)} ${textOf(line.who)} ${textOf(line.text)}`;
    const count = seen.get(name) ?? 0;
    seen.set(name, count + 1);
    return {
      key: `${name} ${count}`,
      mine: line.who === "owner",
      text: textOf(line.text),
      atMs: timeOf(line.atMs),
      turn: textOf(line.turn),
    };
  });
}

function offerOf(value: Json | undefined): Model["offer"] {
  const offer = objectOf(value);
  return textOf(offer.kind) ? { kind: listedOf(offer.kind), item: listedOf(offer.item), expiresMs: timeOf(offer.expiresMs) } : null;
}

function gameOf(value: Json | undefined): Model["game"] {
  const game = objectOf(value);
  return textOf(game.id) ? { id: textOf(game.id), startedMs: timeOf(game.startedMs), expiresMs: timeOf(game.expiresMs) } : null;
}

function pageOf(page: JsonObject): DiaryPage {
  return {
    date: textOf(page.date),
    text: textOf(page.text),
    atMs: timeOf(page.atMs),
    keepsake: textOf(page.keepsake),
    turn: textOf(page.turn),
  };
}

function eventOf(event: JsonObject): PetEvent {
  return { kind: listedOf(event.kind), atMs: timeOf(event.atMs), item: listedOf(event.item), n: typeof event.n === "number" ? event.n : 1 };
}

function objectOf(value: Json | undefined): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}

function objectsOf(value: Json | undefined): JsonObject[] {
  return Array.isArray(value) ? value.slice(-LIST_MAX).map(objectOf) : [];
}

function textsOf(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.slice(-LIST_MAX).filter((item) => typeof item === "string").map(textOf) : [];
}

function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value.slice(0, TEXT_UNITS_MAX) : "";
}

function numberOf(value: Json | undefined): number {
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}

/** A name that tables are asked with. What every object answers to by birth, `toString` and the like, is no entry. */
function listedOf(value: Json | undefined): string {
  const name = textOf(value);
  return name in Object.prototype ? "" : name;
}

function timeOf(value: Json | undefined): number {
  return Math.min(Math.max(numberOf(value), 0), TIME_MS_MAX);
}

function hueOf(value: Json | undefined): number {
  return typeof value === "number" && Number.isFinite(value) ? ((value % 360) + 360) % 360 : HUE_UNKNOWN;
}

/** What a host sends as effects is played by kind and item, and noted by id. */
function effectsOf(value: unknown): Effect[] {
  return objectsOf(value as Json).flatMap((effect) =>
    Number.isSafeInteger(effect.id)
      ? [{ ...effect, id: numberOf(effect.id), kind: listedOf(effect.kind), item: listedOf(effect.item) } as unknown as Effect]
      : [],
  );
}
