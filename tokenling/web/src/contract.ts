/* What crosses the walls between the rooms of the app: `engine` (the rules, in a worker), `brain` (the words, in a
   worker), `home` (who runs a pet, and where it is kept), `room` (what is seen). Types only.

   A save is a string everywhere: JavaScript's numbers and key order would spoil it. `home` parses one for showing
   (`PetView.save`), never to write it back. */

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };
/** A pet's save: canonical JSON as the engine wrote it. */
export type SaveText = string;

// --- the engine ----------------------------------------------------------------------------------------------------

export type TurnKind = "reactive" | "idle" | "diary";

export interface Turn {
  id: string;
  kind: TurnKind;
  atMs: number;
  seed: number;
  contextRevision: number;
  unstoppable: boolean;
}

export type Effect = JsonObject & { id: number; kind: string; atMs: number };

export interface Step {
  state: SaveText;
  effects: Effect[];
  notices: Json[];
  /** The due turn at which the advance stopped. */
  turn: Turn | null;
}

export interface GenerationRequest {
  header: string;
  lines: string[];
  prefix: string;
  mode: "line" | "diary";
  tags: string[];
  answers: Record<string, string>;
  maxNew: number;
  topK: number;
  temperatureMilli: number;
  topPMilli: number;
  ctx: number;
  seed: number;
}

export type StopReason = "eos" | "newline" | "length" | "cancelled";

export interface Reply {
  text: string;
  stop: StopReason;
}

export type Command =
  | { kind: "say"; text: string }
  | { kind: "care"; action: string; item?: string }
  | { kind: "offer"; offer: string; item?: string }
  | { kind: "game"; gameId: string; score: number }
  | { kind: "settings"; name?: string; timeZone?: string; chatter?: number };

export interface EngineView {
  bodyClockMs: number;
  contextRevision: number;
  dueMs: number;
  effects: Effect[];
  game: JsonObject | null;
  hosting: { mode: "local" | "remote"; brainId: string; timeZone: string };
  turn: Turn | null;
}

/** The functions of `tokenling.engine.bridge`, by name: what each takes and gives. */
export interface EngineCalls {
  new_pet: [
    { petSeed: string; name: string; timeZone: string; brainId: string; weatherSeed: string; nowMs: number },
    { state: SaveText },
  ];
  load_save: [{ state: SaveText }, { state: SaveText }];
  advance: [{ state: SaveText; nowMs: number }, Step];
  apply_command: [{ state: SaveText; command: Command; nowMs: number }, Step];
  apply_reply: [{ state: SaveText; turn: Turn; reply: Reply }, Step];
  skip_turn: [{ state: SaveText; turn: Turn; reason: string }, Step];
  build_request: [{ state: SaveText; turn: Turn }, GenerationRequest];
  rehome: [
    {
      state: SaveText;
      mode: "local" | "remote";
      timeZone: string;
      brainId: string;
      nowMs: number;
      weatherSeed?: string;
    },
    Step,
  ];
  view: [{ state: SaveText }, EngineView];
  first_kept_line: [{ headerTokens: number; lineTokens: number[]; prefixTokens: number; budget: number }, number];
  versions: [Record<string, never>, { engine: number; prompt: number; save: number; lists: Record<string, string[]> }];
}

/** Thrown for a typed refusal of the engine; nothing has changed. `error` is the class, e.g. `SaveRefused`. */
export interface EngineRefusal extends Error {
  error: string;
  code: string;
  path: string;
}

export interface Engine {
  /** Rejects with an `EngineRefused` (see `engine/client.ts`); any other rejection is a fault of that pet's rules. */
  call<Name extends keyof EngineCalls>(name: Name, args: EngineCalls[Name][0]): Promise<EngineCalls[Name][1]>;
  /** `tokenling contract`'s file, made by this engine. */
  contract(): Promise<string>;
  /** How it started: from the snapshot or from the plain files. */
  readonly startedFrom: "snapshot" | "files";
}

// --- the brain -----------------------------------------------------------------------------------------------------

export interface BrainInfo {
  id: string;
  features: string[];
  promptVersion: number;
  precision: string;
  /** SHA-256 in lower-case hex by relative path. */
  files: Record<string, string>;
}

/** A tag branch point: what each legal tag weighed at this step, in millionths (`tokenling/runtime/plan.py`). */
export interface Choice {
  step: number;
  sharesPpm: Record<string, number>;
}

/** An owner's turn receipt, as `tokenling/runtime/receipts.py` writes it: canonical JSON. Field by field in docs. */
export type OwnerReceipt = JsonObject;

export interface Generated {
  reply: Reply;
  receipt: OwnerReceipt;
  choices: Choice[];
}

export interface Verdict {
  /** `near_tie`: first different at a step whose draw the least change of logits could have moved. */
  verdict: "identical" | "near_tie" | "different" | "not_provable_here";
  /** Why it is not provable here, or what differed; a stable word. */
  reason: string | null;
  /** The first step that differs. */
  step: number | null;
  choices: Choice[];
}

export interface Brain {
  readonly info: BrainInfo;
  /** One turn at a time. Rejects with an `AbortError` when the signal is aborted, within one token. */
  generate(request: GenerationRequest, options?: { signal?: AbortSignal; onText?: (soFar: string) => void }): Promise<Generated>;
  /** Runs a turn again from its receipt. */
  verify(receipt: OwnerReceipt, options?: { signal?: AbortSignal }): Promise<Verdict>;
}

/** How far a load is, in bytes of the files it needs. `total` is known from the site's manifest. */
export interface Progress {
  part: "engine" | "brain";
  loaded: number;
  total: number;
}

// --- a pet's home --------------------------------------------------------------------------------------------------

/** What `GET /api/pets/ID` answers; a local home makes the same of its own pet. A line of `save.chat` and a page of
    `save.diary` name in `turn` the turn that wrote them (`MindTurn.turnId`); an owner's line has none. */
export interface PetView {
  id: string;
  status: "prepared" | "active" | "parked" | "quarantined";
  epoch: number;
  revision: number;
  /** Parsed, for showing only. */
  save: JsonObject;
  effects: Effect[];
  game: JsonObject | null;
  thinking: boolean;
  error: string | null;
  serverTime: number;
}

/** A wish on its way to a host. `stuck`: it rests until `retry`, still under its operation id. It outlives a reload. */
export interface PendingCommand {
  operationId: string;
  command: Command;
  state: "sending" | "repeating" | "stuck";
}

/** How the pet shown is connected to what runs it.
    `starting`: shown from the records, nothing else is known yet. `running`, `catching_up`: local, this tab runs it.
    `other_tab`: another tab of this browser runs the page's pets (`Household.takeTab`). `moving`: a move is under way.
    `asking`: the host has not answered yet. `live`: it has. `lost`: it is silent. `offline`: this device is offline.
    `paused`: parked (or only prepared) at its host. `stopped`: its own rules failed. `gone`: the host knows no such pet. */
export type Link =
  | "starting"
  | "running"
  | "catching_up"
  | "other_tab"
  | "moving"
  | "asking"
  | "live"
  | "lost"
  | "offline"
  | "paused"
  | "stopped"
  | "gone";

export interface HomeSnapshot {
  kind: "local" | "remote";
  /** The host's origin; null for a pet that has never been on one. A local pet may have one: where it was last. */
  host: string | null;
  /** Null only when this browser has no copy at all. Shown from the records before engine, brain or host are there. */
  view: PetView | null;
  /** When the copy shown was made, while it is not the pet as it is now (`asking`, `lost`, `offline`, `gone`, …). */
  copyAtMs: number | null;
  link: Link;
  /** The reply as it is being written (local only). */
  words: string | null;
  pending: PendingCommand[];
  /** How far missed time has been lived, while `catching_up`. */
  catchUp: { fromMs: number; nowMs: number; toMs: number } | null;
  /** A move under way, and what stops it. */
  move: MoveState | null;
  /** What only the owner can decide: see `Household.resolveQuestion`. */
  question: Question | null;
  /** Why the pet does not think just now (a failed generation backs off, no brain), or null. */
  trouble: { code: string; retryAtMs: number | null } | null;
}

/** `two_places`: the host runs a copy of a pet that lives here, too. `lost`: the host forgot this pet, or knows it under
    another key: the copy here can go on as another pet. */
export interface Question {
  kind: "two_places" | "lost";
  host: string;
}

export interface MoveState {
  to: "remote" | "local" | "delete" | "key";
  step: "prepare" | "activate" | "resume" | "park" | "delete" | "key";
  /** Whether `Household.abandonMove` would be safe now. Where it is not, `recover` is the way out of `activate`. */
  abandonable: boolean;
  /** Null while a request is out. `lost` is repeated by itself at `retryAtMs`; others need the owner. `code` is the
      host's (docs/api.md), or `unreachable`. */
  problem: { code: string; lost: boolean; retryAtMs: number | null; fields: JsonObject } | null;
}

/** One turn of a pet for the mind view. `choices` is null until the turn is run again in the page.
    A host's receipt names no turn: it is found by the turn's seed, a draw over (pet seed, turn id), among the turns that
    the save's chat and diary name. One that left no words there has null in `turnId`, `kind` and `atMs`. */
export interface MindTurn {
  turnId: string | null;
  kind: TurnKind | null;
  atMs: number | null;
  receipt: OwnerReceipt;
  choices: Choice[] | null;
}

export interface Home {
  readonly localId: string;
  snapshot(): HomeSnapshot;
  /** Called at each change, and once at once. Returns the way out. */
  subscribe(listener: (snapshot: HomeSnapshot) => void): () => void;
  /** Resolves when it is committed (local: on disk; remote: the host said so). Rejects with a `HomeProblem`: the
      engine's or the host's refusal (`code`, `fields.path`), or `not_running`, `outbox_full`. */
  send(command: Command): Promise<void>;
  /** Newest first, at most 50. */
  turns(): Promise<MindTurn[]>;
  /** Asks or repeats now what waits for a pause to end. */
  retry(): void;
}

// --- the household: all pets of this browser -----------------------------------------------------------------------

export interface PetSummary {
  localId: string;
  name: string;
  hue: number | null;
  stage: string;
  kind: "local" | "remote";
  host: string | null;
  /** When a file was last exported; null: never. */
  exportedAtMs: number | null;
  /** On its way out: a deletion waits for its host. Not to be shown as a pet to be with. */
  leaving: boolean;
}

export interface HostFacts {
  origin: string;
  engine: number;
  release: string;
  features: string[];
  ready: boolean;
}

/** What a move would mean, told before it is made. Stable words: `other_brain`, `older_engine`, `not_ready`,
    `plain_http`, `no_brain_here`, `not_portable`. Some forbid the move, some only warn. */
export interface MovePreview {
  host: HostFacts;
  warnings: { code: string; forbids: boolean }[];
}

export interface PairingCard {
  /** `tokenling-card 1` as text for the QR code. */
  text: string;
  words: string[];
}

/** What a card says. `known`: the local id of a pet that this browser has under it already. */
export interface CardFacts {
  host: string;
  petId: string;
  known: string | null;
}

/** A stop that waits for its host (design section 6). `asks`: the pet lives in two places, the owner decides. */
export interface PendingStop {
  stopId: string;
  /** The pet here that it is about; null when that has been deleted or forgotten. */
  localId: string | null;
  host: string;
  name: string;
  sinceMs: number;
  asks: boolean;
}

export interface HouseholdSnapshot {
  /** In the order in which they came. */
  pets: PetSummary[];
  /** `leader`: this tab runs the page's pets. */
  tab: "leader" | "waiting" | "taking";
  stops: PendingStop[];
  /** Whether the browser promised to keep what is stored; null: not asked yet. */
  persisted: boolean | null;
  /** A newer app has taken the records over, or they can no longer be read: this tab stores nothing more and has to be
      loaded anew. A stable word, or null. */
  outdated: "newer_app" | "records" | null;
}

/** The page's own notes (`subtokenling.page.v1`): losing them harms no pet. Further fields are the room's. */
export interface PageNotes {
  current: string | null;
  seen: Record<string, { atMs: number | null; name: string; watchedMs?: number }>;
  [more: string]: unknown;
}

export interface Household {
  snapshot(): HouseholdSnapshot;
  subscribe(listener: (snapshot: HouseholdSnapshot) => void): () => void;
  /** The same object for the same pet. Throws a `HomeProblem` `no_such_pet`. */
  home(localId: string): Home;
  /** A newborn in this page; its first save is on disk when this resolves with its local id. Needs the engine. */
  adopt(newborn: { name: string; petSeed: string; timeZone?: string }): Promise<string>;
  /** Another pet from an exported file; it lives in this page. Rejects with a `HomeProblem` that names code and path. */
  importSave(text: string): Promise<string>;
  /** The save alone, never a key. `keepExported` notes that the owner has it. */
  exportSave(localId: string): Promise<{ fileName: string; text: string }>;
  keepExported(localId: string): Promise<void>;
  /** Asks the host what moving there would mean. */
  previewMove(localId: string, origin: string): Promise<MovePreview>;
  /** What moving here would mean: asked of the host if it answers, else told from what is known. */
  previewMoveHere(localId: string): Promise<MovePreview>;
  /** Resolves when the host runs the pet. Rejects with what stopped it. What is `lost` is repeated until it is answered
      (`HomeSnapshot.move` tells), also after a reload: the promise waits. So do the other moves'. */
  moveToHost(localId: string, origin: string, options?: { enrolCode?: string }): Promise<void>;
  /** Rejects with `other_brain`, `no_brain_here`, `not_portable`, or the engine's refusal of the host's save, before anything is parked. */
  moveHere(localId: string): Promise<void>;
  /** A pet that is parked at its host lives on there. Rejects with `other_device` when it was parked for another one. */
  resume(localId: string): Promise<void>;
  /** The same, overruling the device that it was parked for: that device's copy is behind from then on. */
  takeOver(localId: string): Promise<void>;
  /** From the newest checkpoint, when the host is out of reach; what may be missing has been said. */
  recover(localId: string): Promise<void>;
  /** How old the copy is that a recovery would go on from. */
  checkpointAge(localId: string): Promise<{ atMs: number; revision: number } | null>;
  /** Gives a move up where that is safe. Rejects with `HomeProblem("not_safe")` elsewhere (docs/reliability.md). */
  abandonMove(localId: string): Promise<void>;
  /** Answers `HomeSnapshot.question`. `here`: the copy here is kept, the host's ends. `there`: the other way round.
      `another`: the copy here goes on as another pet (for `lost`). */
  resolveQuestion(localId: string, keep: "here" | "there" | "another"): Promise<void>;
  /** For a pet whose host knows it no more (`gone`): the copy here goes on as another pet, in this page. */
  keepAsAnother(localId: string): Promise<void>;
  /** Deletes the pet here and at its hosts. The file has been offered. */
  remove(localId: string): Promise<void>;
  /** Takes the pet out of this browser only. */
  forget(localId: string): Promise<void>;
  /** For a pet that was seen living on a host. */
  card(localId: string): Promise<PairingCard>;
  /** Reads a card, as QR text or as words, and tells whose it is. Nothing is stored, nothing is sent. */
  readCard(text: string): Promise<CardFacts>;
  /** Adds the pet of a card to this browser; never replaces one. Its host must answer. A pet that is known here already
      under an old key gets the card's. */
  joinCard(text: string): Promise<string>;
  /** A new key: cards and devices with the old one are locked out. */
  changeKey(localId: string): Promise<void>;
  /** Which of the two copies is kept (`PendingStop.asks`). */
  resolveStop(stopId: string, keep: "here" | "there"): Promise<void>;
  /** This tab becomes the one that runs the pets. */
  takeTab(): Promise<void>;
  /** Asks the browser to keep what is stored. */
  persist(): Promise<boolean>;
  notes(): Promise<PageNotes>;
  /** Reads, decides and writes in one transaction. */
  setNotes(change: (notes: PageNotes) => PageNotes): Promise<void>;
  /** Ends all work of this tab and lets another run the pets. */
  close(): Promise<void>;
}

/** What this site brings, from `/app/site.json`. */
export interface SiteFacts {
  /** The brain for local mode, or null for a site without one. */
  brain: { id: string } | null;
  defaultHost: string | null;
  /** The id of the host's brain when no page can run it (a GGUF model): its pets are adopted to that host and stay there. */
  hostBrain?: string | null;
}

export interface HouseholdParts {
  /** Called when first needed, once; again after it failed, with a pause. */
  engine: () => Promise<Engine>;
  brain: () => Promise<Brain>;
  site: SiteFacts;
  now?: () => number;
}

/** `openHousehold` of `home/household.ts`. Resolves as soon as the records are read: pets can be shown then. Rejects with
    `RecordsTooNew` when a newer app has written here: nothing was changed. */
export type OpenHousehold = (parts: HouseholdParts) => Promise<Household>;

/** A refusal or a failure on the way to a home; `lost` means that nobody knows and a repeat is safe. */
export interface HomeProblemShape extends Error {
  code: string;
  lost: boolean;
  fields: JsonObject;
}
