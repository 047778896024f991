/* The gallery: `?show=NAME` opens a scenario, `&open=VIEW` goes on to a view. For looking, and for the browser tests of views
   that a real life seldom shows. */

import "../../src/room/scene/scene.css";
import "../../src/room/app.css";
import { write } from "../../src/room/kept.ts";
import { Loading } from "../../src/room/loading.ts";
import { startRoom } from "../../src/room/start.ts";
import { withSample, type Sample } from "../../src/room/week.ts";
import { CHOICES, NOW_MS, ScriptedHousehold, scriptedBrain } from "./household.ts";
import { SCENARIOS } from "./scenarios.ts";

const wanted = new URLSearchParams(location.search);
const name = wanted.get("show") ?? "day";
const at = Number(wanted.get("at") ?? NOW_MS);
const shift = at - Date.now();
const now = Date.now.bind(Date);
Date.now = () => now() + shift;

let samples: Sample[] = [];
for (let hour = 160; hour >= 0; hour -= 1) {
  const local = (14 - (hour % 24) + 24) % 24;
  if (local < 8 || local > 21) continue;
  const wave = (phase: number, base: number, swing: number) =>
    Math.round(1_000_000 * Math.max(0.08, Math.min(0.97, base + swing * Math.sin((local + phase) / 3.1) - (hour % 9) * 0.012)));
  samples = withSample(samples, at - hour * 3_600_000, {
    fullness: wave(0, 0.6, 0.3),
    energy: wave(4, 0.7, 0.2),
    mood: wave(2, 0.65, 0.2),
    hygiene: wave(6, 0.8, 0.12),
    warmth: wave(1, 0.55, 0.15),
    bond: 480_000,
  });
}
write("tokenling.room.week.v1.juno", JSON.stringify(samples));

const scenario = SCENARIOS[name] ?? {};
const loading = new Loading();
if (name === "meet" || name === "loading") loading.progress({ part: "engine", loaded: 62, total: 100 });
else {
  loading.ready("engine");
  loading.ready("brain");
}
const household = new ScriptedHousehold(scenario);
const verdict = scenario.verdict ?? { verdict: "identical", reason: null, step: null, choices: CHOICES };
await startRoom({
  page: document.getElementById("page") as HTMLElement,
  live: document.getElementById("live") as HTMLElement,
  household,
  brain: async () => scriptedBrain(verdict),
  site: { brain: { id: "sprout-0" }, defaultHost: "https://pets.example.org" },
  loading,
  offline: {
    state: () => (name === "update" ? "update_ready" : "ready"),
    subscribe: (listener) => (listener(), () => undefined),
    update: () => undefined,
  },
});
Object.assign(globalThis, { gallery: household });
document.documentElement.dataset.ready = "true";
