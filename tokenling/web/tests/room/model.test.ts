import { describe, expect, it } from "vitest";
import { alertsOf, wantedAlerts } from "../../src/room/alerts.ts";
import { newsSince } from "../../src/room/events.ts";
import { DEFAULTS, preferencesFrom } from "../../src/room/kept.ts";
import { bandOf, faceOf, hueOfSeed, modelOf, skyOf, type Model } from "../../src/room/model.ts";
import { motionOf } from "../../src/room/start.ts";
import { drawingOf } from "../../src/room/views/diary.ts";
import { spokenOf } from "../../src/room/views/speech.ts";
import { exportAge } from "../../src/room/views/house.ts";
import { originOf } from "../../src/room/views/moving.ts";
import { NOW_MS, ScriptedHousehold, type Scenario } from "../gallery/household.ts";

const shown = (scenario: Scenario = {}): Model => modelOf(new ScriptedHousehold(scenario).script.snapshot()) as Model;

describe("a model of a save", () => {
  it("gives each line a key that stays when older lines go", () => {
    const line = (text: string) => ({ who: "owner", text, atMs: 1 });
    const before = shown({ save: { chat: [line("a"), line("b"), line("b")] } }).chat.map(({ key }) => key);
    const after = shown({ save: { chat: [line("b"), line("b"), line("c")] } }).chat.map(({ key }) => key);
    expect(after.slice(0, 2)).toEqual(before.slice(1));
    expect(new Set(before).size).toBe(3);
  });

  it.each([
    ["nothing", {}],
    [
      "other kinds",
      { name: 7, body: [], chat: {}, character: null, offer: 1, game: "x", diary: [1], events: [null], treasures: [1, "shell"] },
    ],
  ])("is made of %s without a fault", (_, save) => {
    const model = modelOf({ ...new ScriptedHousehold({}).script.snapshot(), view: { ...shownView(), save } }) as Model;
    expect(model.meters.energy).toBe(0);
    expect(model.offer).toBeNull();
  });

  it("is bounded, whatever a host sends, and keeps what is newest", () => {
    const many = Array.from({ length: 100_000 }, (_, at) => ({ who: "pet", text: "x".repeat(at === 99_999 ? 50_000 : 1), atMs: at }));
    const save = { name: "n".repeat(1_000_000), chat: many, diary: many, events: many, memories: many, treasures: Array(100_000).fill("shell") };
    const model = modelOf({ ...new ScriptedHousehold({}).script.snapshot(), view: { ...shownView(), save, effects: many as never } }) as Model;
    expect(model.name.length).toBe(1000);
    for (const list of [model.chat, model.diary, model.events, model.memories, model.treasures]) expect(list.length).toBe(400);
    expect(model.chat.at(-1)).toMatchObject({ atMs: 99_999, text: "x".repeat(1000) });
  });

  it.each([1e300, -1e300, Number.NaN])("never shows a time that no clock can write: %d", (atMs) => {
    const save = { bornMs: atMs, chat: [{ who: "pet", text: "hi", atMs }], events: [{ kind: "went", item: "pond", atMs }] };
    const snapshot = new ScriptedHousehold({}).script.snapshot();
    const model = modelOf({ ...snapshot, copyAtMs: atMs, view: { ...shownView(), save, serverTime: atMs } }) as Model;
    const times = [model.bornMs, model.serverTime, model.copyAtMs, model.chat[0]?.atMs, model.events[0]?.atMs];
    for (const time of times) expect(() => new Date(time as number).toISOString()).not.toThrow();
  });

  it.each(["__proto__", "constructor", "toString"])("takes %s for no name of a closed list", (name) => {
    const save = { place: name, stage: name, feeling: name, weather: name, season: name, want: { kind: name }, treasures: [name] };
    const view = { ...shownView(), save, effects: [{ id: 1, kind: name, item: name }] as never };
    const model = modelOf({ ...new ScriptedHousehold({}).script.snapshot(), view }) as Model;
    expect([model.place, model.stage, model.feeling, model.weather, model.season, model.want, ...model.treasures]).toEqual(
      Array(7).fill(""),
    );
    expect(model.effects).toEqual([{ id: 1, kind: "", item: "" }]);
  });

  it.each([null, {}, [null], [{}], [{ id: "1", kind: "feed" }], [{ id: 1e300, kind: "feed" }]])("plays no effect out of %j", (effects) => {
    const view = { ...shownView(), effects: effects as never };
    expect(modelOf({ ...new ScriptedHousehold({}).script.snapshot(), view })?.effects).toEqual([]);
  });

  it("says whether the pet can be with its owner", () => {
    expect(shown().present).toBe(true);
    expect(shown({ home: { link: "other_tab" } }).present).toBe(false);
    expect(shown({ view: { status: "parked" } }).present).toBe(false);
    expect(shown({ home: { link: "lost" } }).present).toBe(true);
  });
});

function shownView() {
  return new ScriptedHousehold({}).script.snapshot().view as NonNullable<ReturnType<ScriptedHousehold["script"]["snapshot"]>["view"]>;
}

it.each([
  [0, 0],
  [149_999, 0],
  [150_000, 1],
  [350_000, 2],
  [650_000, 3],
  [880_000, 4],
  [1_000_000, 4],
])("%i is in band %i", (value, band) => {
  expect(bandOf(value)).toBe(band);
});

it.each([
  ["an egg is calm", { stage: "egg" }, "calm"],
  ["a worn out one is tired whatever it felt", { feeling: "happy", energy: 10 }, "tired"],
  ["a low mood shows", { feeling: "happy", mood: 10 }, "low"],
  ["a quiet one is flat", { feeling: "calm", mood: 200_000 }, "flat"],
  ["otherwise what it felt", { feeling: "proud" }, "proud"],
])(
  "%s",
  (_, { stage = "child", feeling = "calm", ...body }: { stage?: string; feeling?: string; energy?: number; mood?: number }, face) => {
    const meters = { ...shown().meters, ...body };
    expect(faceOf({ stage, feeling, meters })).toBe(face);
  },
);

it.each([
  ["2026-10-14T02:59:00Z", "night"],
  ["2026-10-14T03:00:00Z", "dawn"],
  ["2026-10-14T05:30:00Z", "day"],
  ["2026-10-14T16:00:00Z", "dusk"],
  ["2026-10-14T19:00:00Z", "night"],
])("in Berlin %s is %s", (at, sky) => {
  expect(skyOf(Date.parse(at), "Europe/Berlin")).toBe(sky);
});

it("draws the egg in the engine's colour", async () => {
  // python -c 'from tokenling.engine.character import character_of; print(character_of("abc").hue)'
  expect(await hueOfSeed("abc")).toBe(320);
});

describe("news for an owner who comes back", () => {
  it("leaves out what the owner did and what was read", () => {
    const { lines } = newsSince(shown(), NOW_MS - 7 * 3_600_000, NOW_MS);
    expect(lines).toEqual([
      "Juno woke up.",
      "Outside, the sun came out.",
      "Juno went off and is at the window.",
      "Juno sang. (2 times)",
      "Juno accepted a flower.",
    ]);
  });

  it("is bounded and says how much more there is", () => {
    const events = Array.from({ length: 9 }, () => ({ kind: "woke", atMs: NOW_MS }));
    expect(newsSince(shown({ save: { events, chat: [], diary: [] } }), 0)).toMatchObject({ more: 3 });
  });
});

describe("alerts", () => {
  const before = shown();
  const after = shown({ save: { want: { kind: "food", atMs: NOW_MS }, chat: [{ who: "pet", text: "secret", atMs: NOW_MS, turn: "r9" }] } });
  const facts = { hidden: true, nowMs: NOW_MS, permission: "granted" };
  const wanted = { ...DEFAULTS, alerts: true };

  it("tell that something was said and never what", () => {
    const texts = alertsOf(before, after).map(({ text }) => text);
    expect(texts).toEqual(["Juno would like something to eat.", "Juno said something."]);
  });

  it.each([
    ["they are off", DEFAULTS, facts],
    ["it is quiet", { ...wanted, quiet: true }, facts],
    ["the page is in sight", wanted, { ...facts, hidden: false }],
    ["the browser did not allow them", wanted, { ...facts, permission: "default" }],
    ["it is night for the pet", wanted, { ...facts, nowMs: Date.parse("2026-10-14T22:00:00Z") }],
  ])("are none while %s", (_, preferences, circumstances) => {
    expect(wantedAlerts(alertsOf(before, after), preferences, "Europe/Berlin", circumstances)).toEqual([]);
  });

  it("are those that the owner chose", () => {
    const about = { said: false, want: true, life: true, diary: true };
    expect(
      wantedAlerts(alertsOf(before, after), { ...wanted, alertsAbout: about }, "Europe/Berlin", facts).map(({ kind }) => kind),
    ).toEqual(["want"]);
  });

  it("are none when nothing happened", () => {
    expect(alertsOf(before, before)).toEqual([]);
  });
});

describe("preferences", () => {
  it.each([null, "", "nonsense", "[]", '"x"', '{"motion": "wild", "sound": 1, "alertsAbout": []}'])("from %s are the defaults", (text) => {
    expect(preferencesFrom(text)).toEqual(DEFAULTS);
  });

  it("come back as they were stored", () => {
    const chosen = {
      ...DEFAULTS,
      motion: "calm" as const,
      sound: true,
      quiet: true,
      alertsAbout: { said: false, want: false, life: true, diary: true },
    };
    expect(preferencesFrom(JSON.stringify(chosen))).toEqual(chosen);
  });

  it.each([
    ["system", true, "calm"],
    ["system", false, "full"],
    ["full", true, "full"],
    ["calm", false, "calm"],
  ] as const)("motion %s, system wants less: %s, is %s", (motion, less, result) => {
    expect(motionOf({ motion }, less)).toBe(result);
  });
});

it.each([
  ["pets.example.org", "https://pets.example.org"],
  ["  https://pets.example.org/some/page?x ", "https://pets.example.org"],
  ["localhost:8460", "http://localhost:8460"],
  ["127.0.0.1:8460/", "http://127.0.0.1:8460"],
  ["127.1.2.3:8460", "http://127.1.2.3:8460"],
  ["LocalHost:8460", "http://localhost:8460"],
  ["127.0.0.1.example", "https://127.0.0.1.example"],
  ["http://pets.example.org", "http://pets.example.org"],
  ["", null],
  ["   ", null],
  ["javascript:alert(1)", null],
  ["ftp://pets.example.org", null],
  ["https://", null],
])("the address %j is the origin %j", (typed, origin) => {
  expect(originOf(typed)).toBe(origin);
});

it.each([
  [null, "[go po", ""],
  [null, null, ""],
  [null, "[go pond] The stone", "The stone"],
  [null, "Hm. [happy] Yes [pl", "Hm. Yes"],
])("a reply being written shows no tag, not even half of one %#", (_, words, spoken) => {
  expect(spokenOf(words)).toBe(spoken);
});

it.each([
  [null, "No copy has been kept from here yet."],
  [0, "Last copy: today."],
  [1, "Last copy: yesterday."],
  [12, "Last copy: 12 days ago."],
  [-3, "Last copy: today."],
])("an export %s days ago", (days, words) => {
  expect(exportAge(days === null ? null : NOW_MS - days * 86_400_000, NOW_MS)).toBe(words);
});

it.each([
  ["the shell", "shell"],
  ["a smooth stone from the pond", "pebble"],
  ["the score of 4", "ball"],
  ["a crumb of soup", "soup"],
  ["a cloud it watched", "leaf"],
])("a keepsake “%s” is drawn as %s", (text, drawing) => {
  expect(drawingOf(text)).toBe(drawing);
});
