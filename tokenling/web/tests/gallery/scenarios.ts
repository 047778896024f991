/* What the gallery can show, by name. */

import type { Scenario } from "./household.ts";
import { NOW_MS, makeSave } from "./household.ts";

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
