/* A household by script, for looking at every view: whatever a scenario says is so. It decides nothing and keeps nothing;
   the product never sees it. */

import type {
  Brain,
  CardFacts,
  Command,
  Generated,
  Home,
  HomeSnapshot,
  Household,
  HouseholdSnapshot,
  JsonObject,
  MindTurn,
  MovePreview,
  PageNotes,
  PetView,
  Verdict,
} from "../../src/contract.ts";

export const NOW_MS = Date.UTC(2026, 9, 14, 12, 20);
const HOUR_MS = 3_600_000;

const CHAT: [string, string][] = [
  ["owner", "hello! my name is Ana"],
  ["pet", "Ana! I like that name. I'm Juno."],
  ["owner", "what do you see out there?"],
  ["pet", "The trees are waving. One leaf let go and I saw it."],
  ["owner", "would you like to go outside later?"],
  ["pet", "Yes! To the pond. The stone is warm there."],
];

export interface Scenario {
  save?: JsonObject;
  home?: Partial<HomeSnapshot>;
  view?: Partial<PetView>;
  household?: Partial<HouseholdSnapshot>;
  turns?: "none" | "gone" | "some";
  verdict?: Verdict;
  preview?: MovePreview;
  refuse?: string;
  notes?: Partial<PageNotes>;
}

export function makeSave(over: JsonObject = {}): JsonObject {
  const chat = CHAT.map(([who, text], index) => ({
    who: who ?? "",
    text: text ?? "",
    atMs: NOW_MS - (7 - index) * 60_000,
    ...(who === "pet" ? { turn: `r${index}` } : {}),
  }));
  return {
    name: "Juno",
    stage: "child",
    asleep: false,
    tucked: false,
    lamp: false,
    place: "nest",
    feeling: "happy",
    weather: "sun",
    season: "autumn",
    character: { hue: 268, traits: ["curious", "cheeky"], food: "plum", toy: "kite", place: "pond" },
    body: { fullness: 310_000, energy: 820_000, mood: 780_000, hygiene: 900_000, warmth: 560_000, bond: 480_000 },
    hosting: { mode: "local", brainId: "sprout-0", timeZone: "Europe/Berlin" },
    chatter: 2,
    bornMs: NOW_MS - 9 * 24 * HOUR_MS,
    ownerMs: NOW_MS - 7 * 60_000,
    bestScore: 4,
    games: 3,
    chat,
    diary: [
      {
        date: "2026-10-11",
        text: "it rained all day. i sat by the window and counted drops until there were too many.",
        atMs: NOW_MS - 60 * HOUR_MS,
        keepsake: "the sound of thunder",
        turn: "d1",
      },
      {
        date: "2026-10-12",
        text: "Ana gave me a shell. it is loud inside. i put it on the shelf where i can see it.",
        atMs: NOW_MS - 40 * HOUR_MS,
        keepsake: "the shell",
        turn: "d2",
      },
      {
        date: "2026-10-13",
        text: "today we caught four of five. i ran so fast that my leaves went flat. then there was soup.",
        atMs: NOW_MS - 16 * HOUR_MS,
        keepsake: "the score of 4",
        turn: "d3",
      },
    ],
    memories: [
      { text: "Ana likes the sea", atMs: 1 },
      { text: "thunder is only loud", atMs: 2 },
      { text: "the pond stone is warm", atMs: 3 },
    ],
    treasures: ["kite", "shell", "acorn", "scarf", "ball", "flower", "bell"],
    events: [
      { kind: "caught", n: 4, atMs: NOW_MS - 20 * HOUR_MS },
      { kind: "fed", item: "soup", atMs: NOW_MS - 19 * HOUR_MS },
      { kind: "slept", atMs: NOW_MS - 15 * HOUR_MS },
      { kind: "woke", atMs: NOW_MS - 6 * HOUR_MS },
      { kind: "weather", item: "sun", atMs: NOW_MS - 5 * HOUR_MS },
      { kind: "went", item: "window", atMs: NOW_MS - 4 * HOUR_MS },
      { kind: "did", item: "sing", n: 2, atMs: NOW_MS - 3 * HOUR_MS },
      { kind: "accepted", item: "flower", atMs: NOW_MS - HOUR_MS },
      { kind: "talked", n: 3, atMs: NOW_MS - 6 * 60_000 },
    ],
    ...over,
  };
}

const REQUEST: JsonObject = {
  header:
    "Juno is a curious, cheeky child who loves plum.\nAwake in the nest, noon, autumn, feeling happy.\nBody: peckish, lively, glad, clean, mild, close to owner.\nKnows: Ana likes the sea; the pond stone is warm.\nLately: took a nap, sang.",
  lines: ["Owner: what do you see out there?", "Juno: The trees are waving.", "Owner: would you like to go outside later?"],
  prefix: "Juno:",
  mode: "line",
  tags: [
    "[eat]",
    "[play]",
    "[explore]",
    "[sing]",
    "[happy]",
    "[excited]",
    "[curious]",
    "[go window]",
    "[go pond]",
    "[go garden]",
    "[remember …]",
    "[look weather]",
    "[look time]",
  ],
  answers: { "[look weather]": "sun", "[look time]": "half past two in the afternoon" },
};

export const CHOICES = [
  { step: 0, sharesPpm: { "[": 910_000 } },
  {
    step: 1,
    sharesPpm: { "[go ": 640_000, "[excited]": 170_000, "[happy]": 92_000, "[explore]": 61_000, "[curious]": 30_000, "[play]": 7_000 },
  },
  { step: 2, sharesPpm: { "[go pond]": 812_000, "[go garden]": 150_000, "[go window]": 38_000 } },
];

function makeTurn(turnId: string): MindTurn {
  const receipt: JsonObject = {
    brainId: "sprout-0",
    seed: 874720671218830,
    request: REQUEST,
    insertionsUsed: ["[look weather]"],
    promptTokens: 118,
    outputTokens: 17,
    prefillMicros: 210_000,
    decodeMicros: 420_000,
    stop: "eos",
    nearTies: [],
    tokens: [],
  };
  return { turnId, kind: turnId.startsWith("d") ? "diary" : "reactive", atMs: NOW_MS, receipt, choices: CHOICES };
}

class ScriptedHome implements Home {
  readonly localId = "juno";
  readonly sent: Command[] = [];
  #listeners = new Set<(snapshot: HomeSnapshot) => void>();

  constructor(
    private readonly scenario: Scenario,
    private now: HomeSnapshot,
  ) {}

  snapshot = () => this.now;

  subscribe(listener: (snapshot: HomeSnapshot) => void) {
    this.#listeners.add(listener);
    listener(this.now);
    return () => this.#listeners.delete(listener);
  }

  change(over: Partial<HomeSnapshot>): void {
    this.now = { ...this.now, ...over };
    for (const listener of this.#listeners) listener(this.now);
  }

  async send(command: Command): Promise<void> {
    if (this.scenario.refuse) throw Object.assign(new Error("refused"), { code: this.scenario.refuse, fields: {}, lost: false });
    this.sent.push(command);
    const view = this.now.view as PetView;
    const id = (view.effects.at(-1)?.id ?? 0) + 1;
    const chat = Array.isArray(view.save.chat) ? view.save.chat : [];
    const save =
      command.kind === "say"
        ? { ...view.save, chat: [...chat, { who: "owner", text: command.text, atMs: Date.now() }] }
        : command.kind === "game"
          ? { ...view.save, game: null }
          : view.save;
    const kind = command.kind === "care" ? command.action : "hear";
    this.change({
      view: {
        ...view,
        revision: view.revision + 1,
        save,
        game: command.kind === "game" ? null : view.game,
        effects: [...view.effects, { id, kind, atMs: Date.now() }],
      },
    });
  }

  async turns(): Promise<MindTurn[]> {
    return this.scenario.turns === "gone" ? [] : ["r1", "r3", "r5", "d1", "d2", "d3"].map(makeTurn);
  }

  retry(): void {}
  noticed(): void {
    this.change({ notices: [] });
  }
  again = async (operationId: string) => this.letGo(operationId);
  async letGo(operationId: string): Promise<void> {
    this.change({ pending: this.now.pending.filter((one) => one.operationId !== operationId) });
  }
}

export class ScriptedHousehold implements Household {
  readonly script: ScriptedHome;
  #notes: PageNotes;
  #now: HouseholdSnapshot;
  #listeners = new Set<(snapshot: HouseholdSnapshot) => void>();

  constructor(private readonly scenario: Scenario) {
    const view: PetView = {
      id: "x",
      status: "active",
      epoch: 1,
      revision: 7,
      save: makeSave(scenario.save),
      effects: [],
      game: null,
      thinking: false,
      error: null,
      serverTime: NOW_MS,
      ...scenario.view,
    };
    const home: HomeSnapshot = {
      kind: "local",
      host: null,
      view,
      copyAtMs: null,
      link: "running",
      words: null,
      pending: [],
      catchUp: null,
      move: null,
      question: null,
      trouble: null,
      notices: [],
      ...scenario.home,
    };
    this.script = new ScriptedHome(scenario, home);
    this.#notes = { current: "juno", seen: {}, ...scenario.notes };
    const juno = {
      localId: "juno",
      name: "Juno",
      hue: 268,
      stage: "child",
      kind: home.kind,
      host: home.host,
      exportedAtMs: NOW_MS - 3 * 24 * HOUR_MS,
      leaving: false,
    };
    const moss = {
      localId: "moss",
      name: "Moss",
      hue: 96,
      stage: "adult",
      kind: "remote" as const,
      host: "https://pets.example.org",
      exportedAtMs: null,
      leaving: false,
    };
    this.#now = { pets: [juno, moss], tab: "leader", stops: [], persisted: true, outdated: null, ...scenario.household };
  }

  snapshot = () => this.#now;
  subscribe(listener: (snapshot: HouseholdSnapshot) => void) {
    this.#listeners.add(listener);
    listener(this.#now);
    return () => this.#listeners.delete(listener);
  }
  change(over: Partial<HouseholdSnapshot>): void {
    this.#now = { ...this.#now, ...over };
    for (const listener of this.#listeners) listener(this.#now);
  }
  home = () => this.script;
  adopt = async () => this.#never<string>();
  importSave = async (): Promise<string> =>
    Promise.reject(Object.assign(new Error("file"), { code: "out_of_range", fields: { path: "/body/energy" } }));
  exportSave = async () => ({ fileName: "juno.json", text: "{}" });
  keepExported = async () => this.change({ pets: this.#now.pets.map((pet) => ({ ...pet, exportedAtMs: Date.now() })) });
  previewMove = async (): Promise<MovePreview> =>
    this.scenario.preview ?? {
      host: { origin: "https://pets.example.org", engine: 1, release: "0.1.0", features: [], ready: true },
      warnings: [],
    };
  previewMoveHere = this.previewMove;
  moveToHost = async () => this.#never<void>();
  moveHere = async () => this.#never<void>();
  resume = async () => {};
  takeOver = async () => {};
  recover = async () => {};
  copies = async () =>
    [2, 3, 5].map((hours) => ({ atMs: NOW_MS - hours * HOUR_MS, revision: 9 - hours, problem: null }));
  goBack = async () => {};
  retire = () => {};
  abandonMove = async () => {};
  resolveQuestion = async () => {};
  keepAsAnother = async () => {};
  remove = async () => {};
  forget = async () => {};
  card = async () => ({
    text: `tokenling-card-1:${"q7Zr0V".repeat(20)}`,
    words:
      "amber basin candle dune ember fern garden harbor island jolly kettle lantern meadow nest ocean pebble quiet river shell thimble umber velvet willow yonder zephyr apple birch clover dew elm fog grain hazel iris jade kelp lilac moss nectar olive".split(
        " ",
      ),
  });
  readCard = async (text: string): Promise<CardFacts> =>
    text.includes("amber")
      ? { host: "https://pets.example.org", petId: "x", known: null }
      : Promise.reject(Object.assign(new Error("card"), { code: "card_word" }));
  joinCard = async () => "juno";
  changeKey = async () => {};
  resolveStop = async () => {};
  takeTab = async () => this.change({ tab: "leader" });
  persist = async () => true;
  notes = async () => this.#notes;
  setNotes = async (change: (notes: PageNotes) => PageNotes) => void (this.#notes = change(this.#notes));
  close = async () => {};

  #never<Made>(): Promise<Made> {
    return new Promise(() => {});
  }
}

export function scriptedBrain(verdict: Verdict): Brain {
  return {
    info: { id: "sprout-0", features: [], promptVersion: 1, precision: "q4", files: {} },
    generate: () => new Promise<Generated>(() => {}),
    verify: async () => verdict,
  };
}
