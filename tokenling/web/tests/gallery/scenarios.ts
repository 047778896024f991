/* What the gallery can show, by name. */


import type { JsonObject, PetSummary } from "../../src/contract.ts";
import type { Scenario } from "./household.ts";
import { NOW_MS, makeSave } from "./household.ts";

const HOUR_MS = 3_600_000;
const THOUGHTS = ["There was a moth on the pane.", "I counted my petals. Still five.", "Soup smells like a story.", "Is that your step?"];

function line(who: "owner" | "pet", text: string, minutesAgo: number): JsonObject {
  const atMs = NOW_MS - minutesAgo * 60_000;
  return who === "pet" ? { who, text, atMs, turn: "r1" } : { who, text, atMs };
}

function petNamed(localId: string, name: string): PetSummary {
  return { localId, name, hue: 268, stage: "child", kind: "local", host: null, exportedAtMs: null, leaving: false };
}

const CHAT_BEFORE = [line("owner", "good night, Juno", 430), line("pet", "Good night. Mind the moon.", 429)];

const HOST = "https://pets.example.org";
const remote = { kind: "remote" as const, host: HOST, link: "live" as const };
const lost = { code: "unreachable", lost: true, retryAtMs: NOW_MS + 4000, fields: {} };

export const SCENARIOS: Record<string, Scenario> = {
  day: {},
  back: { save: { ownerMs: NOW_MS - 8 * 60 * 60_000 } },
  back_asleep: { save: { ownerMs: NOW_MS - 8 * 60 * 60_000, asleep: true } },
  meet: { household: { pets: [] } },
  egg: {
    save: {
      stage: "egg",
      asleep: true,
      chat: [],
      events: [],
      diary: [],
      memories: [],
      treasures: [],
      character: { hue: 40, traits: ["shy", "tidy"] },
    },
  },
  hatchling: { save: { stage: "hatchling", feeling: "curious", character: { hue: 210, traits: ["curious", "tidy"] } } },
  adult: {
    save: { stage: "adult", place: "garden", feeling: "proud", season: "summer", character: { hue: 150, traits: ["bold", "brave"] } },
  },
  pond: { save: { place: "pond", feeling: "calm", season: "summer", character: { hue: 30, traits: ["dreamy", "gentle"] } } },
  window: {
    save: { place: "window", feeling: "wistful", weather: "rain", stage: "adult", character: { hue: 330, traits: ["tidy", "sleepy"] } },
  },
  hearth: {
    save: {
      place: "hearth",
      feeling: "happy",
      weather: "snow",
      season: "winter",
      lamp: true,
      stage: "adult",
      character: { hue: 20, traits: ["gentle", "bold"] },
    },
  },
  attic: {
    save: {
      place: "attic",
      feeling: "excited",
      weather: "storm",
      stage: "hatchling",
      character: { hue: 300, traits: ["brave", "playful"] },
    },
  },
  away: {
    save: { chat: [...CHAT_BEFORE, ...Array.from({ length: 9 }, (_, index) => line("pet", THOUGHTS[index % THOUGHTS.length] ?? "", 400 - index * 40))] },
    notes: { seen: { juno: { atMs: NOW_MS - 7 * HOUR_MS, name: "Juno", watchedMs: NOW_MS - 7 * HOUR_MS } } },
  },
  away_one: {
    save: { chat: [...CHAT_BEFORE, line("pet", "The kettle hums.", 30)] },
    notes: { seen: { juno: { atMs: NOW_MS - 7 * HOUR_MS, name: "Juno", watchedMs: NOW_MS - 7 * HOUR_MS } } },
  },
  notices: {
    home: {
      question: { kind: "two_places", host: HOST },
      trouble: { code: "failed", retryAtMs: NOW_MS + 60_000 },
      pending: [{ operationId: "1", command: { kind: "say", text: "are you there?" }, state: "stuck" }],
    },
    view: { game: { id: "g1", startedMs: NOW_MS, expiresMs: NOW_MS + 170_000 } },
  },
  /** Names and lines at their longest, in scripts of all directions. */
  long: {
    save: {
      name: "Wolfeschlegelsteinhausen🦊",
      want: { kind: "food", atMs: NOW_MS },
      chat: [
        line("owner", "x".repeat(400), 5),
        line("pet", `${"the pond is warm and the stone is warm and ".repeat(9)}so am I`.slice(0, 400), 4),
        line("owner", "🦊🌧️👩‍👩‍👧‍👦 ".repeat(40), 3),
        line("pet", "שלום! מה שלומך היום? אני יושבת ליד החלון.", 2),
        line("pet", "W".repeat(160), 1),
      ],
      memories: Array.from({ length: 64 }, (_, index) => ({ text: index % 9 === 0 ? "m".repeat(40) : `thing ${index} about Ana`, atMs: index })),
      diary: [{ date: "2026-10-13", text: "a very long day. ".repeat(60), atMs: NOW_MS, keepsake: "k".repeat(40), turn: "d1" }],
    },
    household: { pets: [petNamed("juno", "Wolfeschlegelsteinhausen🦊"), petNamed("other", "مرحبا يا صديقي العزيز جدا")] },
  },
  namesakes: {
    household: { pets: [petNamed("juno", "Juno"), petNamed("other", "Juno")] },
    notes: { came: { other: { how: "file", atMs: NOW_MS - 2 * 24 * HOUR_MS } } },
  },
  rtl: { save: { name: "نور", chat: [line("owner", "مرحبا", 2), line("pet", "مرحبا! الحجر دافئ اليوم.", 1)] } },
  year: {
    save: {
      diary: Array.from({ length: 366 }, (_, index) => ({
        date: new Date(Date.UTC(2025, 9, 13) + index * 24 * HOUR_MS).toISOString().slice(0, 10),
        text: `day ${index + 1}. i counted the leaves.`,
        atMs: NOW_MS - (366 - index) * 24 * HOUR_MS,
        keepsake: index % 3 === 0 ? "the feather" : "",
        turn: `d${index}`,
      })),
    },
  },
  bare: { save: { chat: [], diary: [], memories: [], treasures: [], events: [], body: { fullness: 0, energy: 0, mood: 0, hygiene: 0, warmth: 0, bond: 0 } } },
  full: { save: { body: { fullness: 1_000_000, energy: 1_000_000, mood: 1_000_000, hygiene: 1_000_000, warmth: 1_000_000, bond: 1_000_000 } } },
  asleep: { save: { asleep: true, tucked: true, lamp: false } },
  hungry: {
    save: {
      want: { kind: "food", atMs: NOW_MS },
      feeling: "calm",
      body: { fullness: 90_000, energy: 310_000, mood: 240_000, hygiene: 120_000, warmth: 260_000, bond: 210_000 },
    },
  },
  low: {
    save: { feeling: "calm", body: { fullness: 90_000, energy: 310_000, mood: 100_000, hygiene: 120_000, warmth: 260_000, bond: 210_000 } },
  },
  thinking: { view: { thinking: true } },
  writing: { view: { thinking: true }, home: { words: "[go pond] The stone is warm th" } },
  game: { view: { game: { id: "g1", startedMs: NOW_MS, expiresMs: NOW_MS + 170_000 } } },
  offer: { save: { offer: { kind: "gift", item: "feather", atMs: NOW_MS, expiresMs: NOW_MS + 3_600_000 } } },
  outdated: { household: { outdated: "newer_app" } },
  other: { household: { tab: "waiting" }, home: { link: "other_tab" } },
  remote: { home: remote },
  lost: { home: { ...remote, link: "lost", copyAtMs: NOW_MS - 3_600_000 } },
  offline: { home: { ...remote, link: "offline", copyAtMs: NOW_MS - 3_600_000 } },
  paused: { home: { ...remote, link: "paused" }, view: { status: "parked" } },
  stopped: { home: { ...remote, link: "stopped" }, view: { status: "quarantined", error: "KeyError in body.py" } },
  gone: { home: { ...remote, link: "gone", copyAtMs: NOW_MS - 3_600_000 } },
  moving: { home: { link: "moving", move: { to: "remote", step: "activate", abandonable: false, problem: lost } } },
  code: {
    home: {
      link: "moving",
      move: {
        to: "remote",
        step: "prepare",
        abandonable: true,
        problem: { code: "enrol_required", lost: false, retryAtMs: null, fields: {} },
      },
    },
  },
  two: {
    home: { question: { kind: "two_places", host: HOST } },
    household: { stops: [{ stopId: "s1", localId: "juno", host: "https://old.example.net", name: "Juno", sinceMs: NOW_MS, asks: false }] },
  },
  catching: { home: { link: "catching_up", catchUp: { fromMs: 0, nowMs: 40, toMs: 100 } } },
  trouble: { home: { trouble: { code: "failed", retryAtMs: NOW_MS + 60_000 } } },
  stuck: {
    home: {
      ...remote,
      pending: [
        { operationId: "1", command: { kind: "say", text: "are you there?" }, state: "stuck" },
        { operationId: "2", command: { kind: "say", text: "it is me" }, state: "sending" },
      ],
    },
  },
  loading: {},
  different: { verdict: { verdict: "different", reason: "tokens", step: 4, choices: [] } },
  tie: { verdict: { verdict: "near_tie", reason: "tokens", step: 9, choices: [] } },
  unprovable: { verdict: { verdict: "not_provable_here", reason: "numerics", step: null, choices: [] } },
  gonemind: { turns: "gone" },
  warned: {
    preview: {
      host: { origin: HOST, engine: 0, release: "0.0.9", features: [], ready: true },
      warnings: [
        { code: "older_engine", forbids: true },
        { code: "plain_http", forbids: false },
      ],
    },
  },
  hostile: {
    save: {
      ...makeSave(),
      name: "<b>x</b>",
      chat: [
        { who: "pet", text: "<img src=x onerror=document.title='pwned'>", atMs: NOW_MS, turn: "r1" },
        { who: "owner", text: "\u202eevil <script>1</script>", atMs: NOW_MS },
      ],
      memories: [{ text: "<svg onload=1>", atMs: 1 }],
      diary: [{ date: "2026-10-12", text: "<style>*{display:none}</style>", atMs: 1, keepsake: "<i>", turn: "d1" }],
    },
  },
};
