/* One pet of this browser: who runs it now, and what the room sees of it.

   The stored row decides. `know(row)` is called with each row that was stored, whoever stored it, and starts and stops
   the local executor, the link to a host and the mover accordingly; so nothing runs that the disk does not allow. */

import type {
  Brain,
  Command,
  Engine,
  Home,
  HomeSnapshot,
  JsonObject,
  Link,
  MindTurn,
  PetView,
  Question,
} from "../contract.ts";
import { lookedAround } from "./conclusions.ts";
import type { Told } from "./conclusions.ts";
import type { Ids } from "./ids.ts";
import type { Lane } from "./lane.ts";
import type { Row } from "./layout.ts";
import { mayRun, modeOf, newestOf } from "./layout.ts";
import type { LifeParts } from "./local_life.ts";
import { LocalLife } from "./local_life.ts";
import { Mover } from "./mover.ts";
import { Outbox } from "./outbox.ts";
import { Rest } from "./pause.ts";
import { HomeProblem } from "./problems.ts";
import type { Records } from "./records.ts";
import { TURNS_MAX } from "./records.ts";
import { isFollowed, RemoteLife } from "./remote_life.ts";
import { bringTurnsHome, hostTurns, localTurns } from "./turn_links.ts";
import type { SaveProblem } from "./welcome.ts";
import { saveProblemOf } from "./welcome.ts";
import * as wire from "./wire.ts";

/** A page that runs a pet itself asks its former host now and then whether another device took it over. A guess. */
const LOOK_AROUND_MS = 5 * 60_000;
/** A former host that did not give its turn receipts is not asked again before that. A guess. */
const TURNS_AGAIN_MS = 60_000;

export interface HouseParts {
  records: Records;
  ids: Ids;
  lane: Lane;
  engine: () => Promise<Engine>;
  brain: () => Promise<Brain>;
  brainId: string | null;
  now: () => number;
  leads: () => boolean;
  hidden: () => boolean;
  online: () => boolean;
  /** What a stop of this pet asks its owner, if one does. */
  asking: (localId: string) => Told | null;
  /** A row was stored: for the other pets, the stops and the other tabs. */
  onStored: (row: Row) => void;
  /** Work that reads the records: where it cannot, this tab's work ends, and that is told. */
  orOutdated: (work: Promise<void>) => void;
}

export class PetHome implements Home {
  readonly localId: string;
  #mover: Mover;
  #parts: HouseParts;
  #row: Row;
  #life: LocalLife | null = null;
  #remote: RemoteLife | null = null;
  #outbox: Outbox | null = null;
  #listeners = new Set<(snapshot: HomeSnapshot) => void>();
  #lookTimer: ReturnType<typeof setInterval> | undefined;
  #later: HomeProblem | null = null;
  #gone = false;
  #telling = false;
  #fetching = false;
  #justAsked = new Rest();
  #ending: Promise<void> = Promise.resolve();

  constructor(row: Row, parts: HouseParts) {
    this.localId = row.localId;
    this.#row = row;
    this.#parts = parts;
    this.#mover = this.#newMover();
  }

  #newMover(): Mover {
    return new Mover({
      ...this.#parts,
      localId: this.localId,
      inspect: (row, save) => this.#inspect(row, save),
      onRow: (stored) => this.#stored(stored),
      onChange: () => this.tell(),
      onGone: () => this.#set({ gone: true }),
    });
  }

  #inspect(row: Row, save: JsonObject): Promise<SaveProblem | null> {
    return saveProblemOf(this.#parts.engine, newestOf(row)?.save ?? null, save);
  }

  get mover(): Mover {
    return this.#mover;
  }

  get row(): Row {
    return this.#row;
  }

  // --- who runs it -------------------------------------------------------------------------------------------------

  /** The row as it is stored now. */
  know(row: Row): void {
    this.#row = row;
    this.#remote?.know(row);
    this.#outbox?.know(row);
    this.#arrange();
    this.tell();
  }

  /** Starts what the row asks for and stops the rest. */
  #arrange(): void {
    const leads = this.#parts.leads();
    const runs = leads && mayRun(this.#row);
    const follows = leads && isFollowed(this.#row);
    if (!runs) this.#endLife();
    if (!follows) this.#endRemote();
    if (!leads) this.#endOutbox();
    if (runs && this.#life === null) this.#startLife();
    if (follows && this.#remote === null) this.#startRemote();
    if (leads && this.#outbox === null) this.#startOutbox();
    this.#outbox?.start();
    if (leads && this.#row.entry?.intent) this.#mover.start(this.#row.entry.intent);
    if (leads && this.#row.entry?.turnsDue) void this.#fetchTurns();
  }

  #startLife(): void {
    const parts: LifeParts = {
      ...this.#parts,
      localId: this.localId,
      watched: () => this.#watched(),
      onChange: (row) => (row === null ? this.tell() : this.#stored(row)),
      onStale: () => this.#parts.orOutdated(this.reload()),
    };
    // an execution of before may still be finishing a commit: the new one reads what that has left
    const ended = this.#ending;
    const life = new LocalLife(this.#row, parts);
    this.#life = life;
    void ended.then(() => life.wake());
    clearInterval(this.#lookTimer);
    this.#lookTimer = setInterval(() => void this.lookAround(), LOOK_AROUND_MS);
    void this.lookAround();
  }

  #endLife(): void {
    clearInterval(this.#lookTimer);
    if (this.#life === null) return;
    const life = this.#life;
    this.#life = null;
    this.#ending = life.stop();
  }

  #startRemote(): void {
    this.#gone = false;
    this.#remote = new RemoteLife(this.#row, {
      ...this.#parts,
      localId: this.localId,
      watched: () => this.#watched(),
      inspect: (save) => this.#inspect(this.#row, save),
      onChange: (row) => (row === null ? this.tell() : this.#stored(row)),
      onSeen: (view) => this.#outbox?.seen(view),
    });
    this.#remote.start();
  }

  #endRemote(): void {
    this.#remote?.stop();
    this.#remote = null;
  }

  #startOutbox(): void {
    this.#outbox = new Outbox(this.#row, {
      ...this.#parts,
      localId: this.localId,
      here: () => {
        const life = this.#life;
        return life && ((wish) => life.grant(wish));
      },
      there: () => (this.#row.entry?.intent ? null : (this.#remote?.connection() ?? null)),
      onChange: (row) => (row === null ? this.tell() : this.#stored(row)),
      onRefused: (problem) => this.#set({ later: problem }),
    });
  }

  #endOutbox(): void {
    this.#outbox?.stop();
    this.#outbox = null;
  }

  /** Ends all work of this tab on the pet; resolves when none is under way. */
  async end(): Promise<void> {
    this.#mover.stop();
    this.#mover = this.#newMover();
    this.#endRemote();
    this.#endOutbox();
    this.#endLife();
    await this.#ending;
  }

  /** Takes the row as it is on the disk: another tab, or another piece of work, has stored it. */
  async reload(): Promise<void> {
    const row = await this.#parts.records.row(this.localId);
    this.#endLife();
    await this.#ending;
    this.know(row);
  }

  #stored(row: Row): void {
    this.#parts.onStored(row);
  }

  // --- what it does ------------------------------------------------------------------------------------------------

  async send(command: Command): Promise<void> {
    await this.#taker().send(command);
  }

  async again(operationId: string): Promise<void> {
    await this.#taker().again(operationId);
  }

  async letGo(operationId: string): Promise<void> {
    await this.#outbox?.letGo(operationId);
  }

  /** What takes a wish now: the pet lives here, or on its host and is not on its way. */
  #taker(): Outbox {
    this.#later = null;
    if (this.#outbox === null) throw new HomeProblem("not_running");
    if (this.#life !== null) {
      if (this.#life.snapshot().error !== null) throw new HomeProblem("quarantined");
    } else if (this.#remote === null || this.#row.entry?.intent) throw new HomeProblem("not_running");
    return this.#outbox;
  }

  noticed(): void {
    this.#life?.noticed();
  }

  /** Brings the receipts of what it said at its last host; what is silent is asked again later. */
  async #fetchTurns(): Promise<void> {
    if (this.#fetching || !mayRun(this.#row) || this.#justAsked.leftMs(this.#parts.now()) > 0) return;
    this.#fetching = true;
    this.#justAsked.begin(this.#parts.now(), TURNS_AGAIN_MS);
    try {
      this.#stored(await bringTurnsHome(this.#row, this.#parts.records));
    } catch (error) {
      if (!(error instanceof HomeProblem)) throw error;
    } finally {
      this.#fetching = false;
    }
  }

  async turns(): Promise<MindTurn[]> {
    const kept = localTurns(await this.#parts.records.turns(this.localId));
    const { entry } = this.#row;
    if (!isFollowed(this.#row) || entry === null) return kept;
    const save = this.#remote?.view()?.save ?? newestOf(this.#row)?.save ?? {};
    const there = await hostTurns(await wire.receipts(entry).catch(silence), save);
    return [...there, ...kept].slice(0, TURNS_MAX);
  }

  retry(): void {
    this.#life?.retry();
    this.#remote?.sync.now();
    this.#outbox?.retry();
    if (this.#row.entry?.intent) this.#mover.retry();
  }

  /** Something outside may have changed: the clock, the network, whether the page is seen. */
  wake(): void {
    this.#life?.wake();
    this.#remote?.sync.now();
    if (this.#parts.leads() && this.#row.entry?.turnsDue) void this.#fetchTurns();
    if (this.#row.entry?.intent && this.#mover.state()?.problem?.lost) this.#mover.retry();
  }

  /** Stores what is newest of a pet at a host, before something is decided on it or the page goes. */
  async flush(): Promise<void> {
    await this.#remote?.flush();
  }

  /** Asks the host for its newest snapshot and stores it: what a move is decided on. Rejects when it is not one of this
      pet that the rules take. */
  async refresh(): Promise<PetView> {
    const { entry } = this.#row;
    const remote = this.#remote;
    if (entry === null || remote === null) throw new HomeProblem("not_hosted");
    const askedAt = remote.mark();
    const found = await wire.view(entry);
    if (found === null) throw new HomeProblem("unexpected_answer");
    await remote.take(found.view, askedAt);
    return found.view;
  }

  /** Whether the host where the pet was last has another copy. Silence says nothing. */
  async lookAround(): Promise<void> {
    const { entry, deviceId } = this.#row;
    if (this.#life === null || entry === null || entry.id === "" || entry.intent !== null) return;
    try {
      const answer = await wire.moved(entry, deviceId, { kind: "view", key: entry.key });
      const told = lookedAround(this.#row, answer);
      if (told !== null && this.#life !== null) this.#mover.ask(told);
    } catch (error) {
      if (!(error instanceof HomeProblem)) throw error;
    }
  }

  question(): Told | null {
    return this.#parts.asking(this.localId) ?? this.#mover.question();
  }

  // --- what is seen ------------------------------------------------------------------------------------------------

  subscribe(listener: (snapshot: HomeSnapshot) => void): () => void {
    this.#listeners.add(listener);
    listener(this.snapshot());
    this.wake();
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** Tells whoever looks; changes of one moment are told together. */
  tell(): void {
    if (this.#telling || this.#listeners.size === 0) return;
    this.#telling = true;
    queueMicrotask(() => {
      this.#telling = false;
      const snapshot = this.snapshot();
      for (const listener of [...this.#listeners]) listener(snapshot);
    });
  }

  snapshot(): HomeSnapshot {
    const view = this.#view();
    const link = this.#link();
    const local = this.#life?.snapshot();
    const { entry } = this.#row;
    const current = link === "running" || link === "catching_up" || link === "live" || link === "paused";
    return {
      kind: modeOf(this.#row),
      host: entry === null || entry.host === "" ? null : entry.host,
      view,
      copyAtMs: current ? null : (this.#remote?.view()?.serverTime ?? newestOf(this.#row)?.atMs ?? null),
      link,
      words: local?.words ?? null,
      pending: this.#outbox?.pending() ?? [],
      catchUp: local?.catchUp ?? null,
      move: entry?.intent ? this.#mover.state() : null,
      question: this.#question(),
      trouble: local?.trouble ?? this.#remote?.trouble() ?? this.#laterTrouble(),
      notices: local?.notices ?? [],
    };
  }

  #laterTrouble(): HomeSnapshot["trouble"] {
    return this.#later === null ? null : { code: this.#later.code, retryAtMs: null };
  }

  #question(): Question | null {
    const told = this.question();
    const { entry } = this.#row;
    return told === null ? null : { kind: told.kind, host: entry?.host ?? "" };
  }

  #view(): PetView | null {
    const remote = this.#remote?.view();
    if (remote) return remote;
    const newest = newestOf(this.#row);
    if (newest === null) return null;
    const local = this.#life?.snapshot();
    const save = local?.save ?? newest.save;
    return {
      id: this.#row.entry?.id || this.localId,
      status: local?.error ? "quarantined" : "active",
      epoch: newest.epoch,
      revision: newest.revision,
      save,
      effects: local?.save ? local.effects : effectsIn(save),
      game: local?.save ? local.game : gameIn(save),
      thinking: local?.thinking ?? false,
      error: local?.error ?? null,
      serverTime: this.#life === null ? newest.atMs : this.#parts.now(),
    };
  }

  #link(): Link {
    const { intent } = this.#row.entry ?? { intent: null };
    if (!this.#parts.leads()) return "other_tab";
    if (this.#life !== null) {
      const { catchUp, running, error } = this.#life.snapshot();
      if (error !== null) return "stopped";
      return catchUp !== null ? "catching_up" : running ? "running" : "starting";
    }
    if (intent !== null && modeOf(this.#row) === "local") return "moving";
    if (this.#gone) return "gone";
    return this.#remote?.link() ?? "starting";
  }

  #set({ gone, later }: { gone?: boolean; later?: HomeProblem }): void {
    if (gone !== undefined) this.#gone = gone;
    if (later !== undefined) this.#later = later;
    this.tell();
  }

  #watched(): boolean {
    return this.#listeners.size > 0 && !this.#parts.hidden();
  }
}

/** What a silent host would have told; its refusal is told. */
function silence(error: unknown): never[] {
  if (error instanceof HomeProblem && error.lost) return [];
  throw error;
}

/** The engine writes both into the save as a view has them. */
function effectsIn(save: JsonObject): PetView["effects"] {
  return Array.isArray(save.effects) ? (save.effects as PetView["effects"]) : [];
}

function gameIn(save: JsonObject): JsonObject | null {
  const { game } = save;
  return typeof game === "object" && game !== null && !Array.isArray(game) ? game : null;
}
