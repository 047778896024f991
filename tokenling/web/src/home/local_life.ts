/* The local executor of one pet: it lives on its own time, turn by turn, as on a host.

   `#think` lives up to the next due turn and stores it, `#generate` asks the brain with no lock held, `#settle` applies
   the reply under the execution and the revision it was asked in. What an owner does comes in between; a turn that it
   made stale is cancelled. Each step is on the disk before it is shown. Back-off and tries are in memory only: after a
   reload the stored state says which turns are due, and they are lived late, in order.

   The engine works in a worker, one call at a time and bounded by its own rules (a gap ends at 400 days), and between
   any two calls the page is free; so a long absence never blocks the page, and a command waits for one call at most. */

import type {
  Brain,
  Command,
  Effect,
  Engine,
  Generated,
  GenerationRequest,
  HomeSnapshot,
  JsonObject,
  Notice,
  SaveText,
  Step,
  Turn,
} from "../contract.ts";
import type { Lane } from "./lane.ts";
import type { Checkpoint, Row, Wish } from "./layout.ts";
import { committed, newestOf } from "./layout.ts";
import { Rest } from "./pause.ts";
import { HomeProblem, StaleExecution } from "./problems.ts";
import type { KeptTurn, Records } from "./records.ts";
import type { Living } from "./rules.ts";
import { atHome, isRefusal, living, obeyed, refusedAs } from "./rules.ts";
import { Serial } from "./serial.ts";
import { withGranted } from "./wishes.ts";

/** A failed generation is tried again after 30 s, then twice as long each time, up to 30 min (design section 3). */
export const BACK_OFF_FIRST_MS = 30_000;
export const BACK_OFF_MAX_MS = 30 * 60_000;
/** A turn that failed so often ends without words: its seed is its own, the same brain would fail on it again. */
export const TRIES_MAX = 8;
/** The same for an empty reply: the second try is the proof. */
export const EMPTY_TRIES_MAX = 2;
/** The wall clock is read at least so often: it may jump, and timers of hidden pages are late. */
const LOOK_MS_MAX = 30_000;
/** A pet that has just been lived up to now is not looked at again before that: no rule can make the page spin. */
const LOOK_MS_MIN = 1000;
/** One tick of the engine. */
const TICK_MS = 60_000;
/** A turn that is later than this is missed time being lived late, and the page says so. A guess. */
const LATE_MS = 3 * TICK_MS;
const CLOCK_SLACK_MS = TICK_MS;

export interface LifeParts {
  localId: string;
  records: Records;
  lane: Lane;
  engine: () => Promise<Engine>;
  brain: () => Promise<Brain>;
  /** The brain of this site; null: the pet keeps the one it names. */
  brainId: string | null;
  now: () => number;
  /** Whether somebody looks: then the body is shown minute by minute. */
  watched: () => boolean;
  /** Something to show has changed; `row` when it was stored. */
  onChange: (row: Row | null) => void;
  /** The row on the disk is another's by now: this life has ended. */
  onStale: () => void;
}

interface Thought {
  turn: Turn;
  request: GenerationRequest;
  ending: AbortController;
}

type Outcome = { done: Generated } | { failed: string; counts: boolean } | null;

export interface LifeShown {
  save: JsonObject | null;
  effects: Effect[];
  game: JsonObject | null;
  revision: number;
  thinking: boolean;
  words: string | null;
  catchUp: HomeSnapshot["catchUp"];
  trouble: HomeSnapshot["trouble"];
  notices: Notice[];
  error: string | null;
  running: boolean;
}

/** What a commit brings beside the new state: the receipt of the turn, the wish that it grants. */
interface Beside {
  turn?: KeptTurn;
  granted?: string;
}

export class LocalLife {
  #parts: LifeParts;
  #serial = new Serial();
  #stored: Checkpoint;
  #pet: Living | null = null;
  #shown: { save: JsonObject; view: Living["view"] } | null = null;
  #thought: Thought | null = null;
  #words: string | null = null;
  #retry: { turnId: string; tries: number; rest: Rest } | null = null;
  #failures = 0;
  #trouble: HomeSnapshot["trouble"] = null;
  #lateSinceMs: number | null = null;
  #fault: string | null = null;
  #notices: Notice[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #driving = false;
  #again = false;
  #stopped = false;

  constructor(row: Row, parts: LifeParts) {
    const newest = newestOf(row);
    if (newest === null) throw new HomeProblem("no_checkpoint");
    this.#parts = parts;
    this.#stored = newest;
  }

  /** Looks at what is due. */
  wake(): void {
    if (this.#stopped) return;
    this.#again = true;
    if (!this.#driving) void this.#drive();
  }

  /** Forgets the pause after a failure, and looks. */
  retry(): void {
    this.#retry?.rest.end();
    this.#fault = null;
    this.wake();
  }

  /** Ends this execution: no commit of it begins after this, and none is under way when it resolves. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#thought?.ending.abort();
    await this.#serial.idle();
  }

  /** Resolves when the wish is applied and off the disk, in one transaction. Throws the engine's refusal as a
      `HomeProblem`; `wish_gone`: it was applied before. */
  async grant(wish: Wish): Promise<void> {
    await this.#serial.run(async () => {
      if (this.#stopped) throw new HomeProblem("not_running");
      if (this.#fault !== null) throw new HomeProblem("quarantined");
      const engine = await this.#engine();
      await this.#obey(engine, wish);
    });
    this.wake();
  }

  async #obey(engine: Engine, { operationId, command }: Wish): Promise<void> {
    try {
      const pet = await this.#atHome(engine);
      const wished = command as unknown as Command;
      const step = await this.#guarded(() => obeyed(engine, pet.state, wished, this.#parts.now()));
      this.#note(step);
      await this.#commit(engine, step.state, { granted: operationId });
      this.#reconsider();
    } catch (error) {
      if (error instanceof HomeProblem && !(error instanceof StaleExecution)) throw error;
      this.#failed(error);
      throw new HomeProblem(error instanceof StaleExecution ? "not_running" : "quarantined");
    }
  }

  snapshot(): LifeShown {
    const { view, save } = this.#shown ?? { view: null, save: null };
    return {
      save,
      effects: view?.effects ?? [],
      game: view?.game ?? null,
      revision: this.#stored.revision,
      thinking: this.#thought !== null,
      words: this.#words,
      catchUp: this.#catchUp(),
      trouble: this.#trouble,
      notices: this.#notices,
      error: this.#fault,
      running: this.#pet !== null,
    };
  }

  /** The owner has read them. */
  noticed(): void {
    this.#notices = [];
    this.#parts.onChange(null);
  }

  /** What the rules did with the clock; of each kind the newest. */
  #note({ notices }: Step): void {
    for (const notice of notices as unknown as Notice[])
      this.#notices = [...this.#notices.filter(({ kind }) => kind !== notice.kind), notice];
  }

  #catchUp(): HomeSnapshot["catchUp"] {
    if (this.#lateSinceMs === null || this.#pet === null) return null;
    return { fromMs: this.#lateSinceMs, nowMs: this.#pet.view.bodyClockMs, toMs: this.#parts.now() };
  }

  // --- the driver --------------------------------------------------------------------------------------------------

  async #drive(): Promise<void> {
    this.#driving = true;
    try {
      while (this.#again && !this.#stopped) {
        this.#again = false;
        for (
          let thought = await this.#step(() => this.#think());
          thought;
          thought = await this.#step(() => this.#think())
        ) {
          const outcome = await this.#generate(thought);
          await this.#step(() => this.#settle(thought!, outcome));
        }
      }
    } finally {
      this.#driving = false;
    }
  }

  /** One piece of work under the lock. What fails is told and tried again after a pause, never swallowed. */
  async #step<T>(work: () => Promise<T>): Promise<T | null> {
    try {
      return await this.#serial.run(async () => (this.#stopped || this.#fault !== null ? null : work()));
    } catch (error) {
      this.#failed(error);
      return null;
    }
  }

  #failed(error: unknown): void {
    this.#thought = null;
    if (error instanceof StaleExecution) {
      void this.stop();
      this.#parts.onStale();
      return;
    }
    const retryAtMs = this.#parts.now() + BACK_OFF_FIRST_MS;
    if (error instanceof HomeProblem && error.fields.error === undefined) {
      this.#trouble = { code: error.code, retryAtMs };
      this.#schedule(retryAtMs);
    } else {
      this.#fault = faultOf(error);
    }
    this.#parts.onChange(null);
  }

  /** Lives up to now or the next turn; null when there is nothing to ask. */
  async #think(): Promise<Thought | null> {
    const engine = await this.#engine();
    let pet = await this.#atHome(engine);
    const nowMs = this.#parts.now();
    const ahead = nowMs < pet.view.bodyClockMs - CLOCK_SLACK_MS;
    if (pet.view.dueMs > nowMs && !ahead) {
      this.#caughtUp();
      this.#recovered();
      await this.#showNow(engine, pet, nowMs);
      return this.#rest(pet.view.dueMs);
    }
    const fromMs = pet.view.bodyClockMs;
    const step = await this.#guarded(() => engine.call("advance", { state: pet.state, nowMs }));
    this.#note(step);
    this.#noteLate(step.turn, fromMs, nowMs);
    pet = await this.#commit(engine, step.state);
    this.#recovered();
    if (step.turn === null) return this.#rest(Math.max(pet.view.dueMs, nowMs + LOOK_MS_MIN));
    return this.#ask(engine, pet, step.turn, nowMs);
  }

  /** Nothing that was missed is left, though nothing is due either that would say so. */
  #caughtUp(): void {
    if (this.#lateSinceMs === null) return;
    this.#lateSinceMs = null;
    this.#parts.onChange(null);
  }

  /** What kept it from living has passed; a turn that is tried again keeps its trouble. */
  #recovered(): void {
    if (this.#retry !== null || this.#trouble === null) return;
    this.#trouble = null;
    this.#parts.onChange(null);
  }

  #noteLate(turn: Turn | null, fromMs: number, nowMs: number): void {
    const late = turn !== null && nowMs - turn.atMs > LATE_MS;
    this.#lateSinceMs = late ? (this.#lateSinceMs ?? fromMs) : null;
  }

  async #ask(engine: Engine, pet: Living, turn: Turn, nowMs: number): Promise<Thought | null> {
    const leftMs = this.#retry?.turnId === turn.id ? this.#retry.rest.leftMs(nowMs) : 0;
    if (leftMs > 0) return this.#rest(nowMs + leftMs);
    const request = await this.#guarded(() => engine.call("build_request", { state: pet.state, turn }));
    this.#thought = { turn, request, ending: new AbortController() };
    this.#parts.onChange(null);
    return this.#thought;
  }

  async #generate({ turn, request, ending }: Thought): Promise<Outcome> {
    const { signal } = ending;
    let loaded = false;
    try {
      const done = await this.#parts.lane.run(turn.kind, signal, async () => {
        const brain = await this.#parts.brain();
        loaded = true;
        return brain.generate(request, { signal, onText: (soFar) => this.#say(signal, soFar) });
      });
      return signal.aborted ? null : { done };
    } catch (error) {
      if (signal.aborted) return null;
      if (!loaded) return { failed: "no_brain", counts: false };
      return { failed: codeOf(error), counts: true };
    }
  }

  #say(signal: AbortSignal, soFar: string): void {
    if (signal.aborted || this.#stopped) return;
    this.#words = soFar;
    this.#parts.onChange(null);
  }

  async #settle(thought: Thought, outcome: Outcome): Promise<void> {
    this.#words = null;
    this.#thought = null;
    if (outcome === null) return this.#parts.onChange(null);
    const engine = await this.#engine();
    if (!("done" in outcome)) return this.#backOff(engine, thought.turn, outcome.failed, outcome.counts);
    const { reply, receipt, choices } = outcome.done;
    if (reply.text.trim() === "") return this.#backOff(engine, thought.turn, "empty", true);
    const pet = await this.#atHome(engine);
    const step = await this.#unlessStale(() =>
      engine.call("apply_reply", { state: pet.state, turn: thought.turn, reply }),
    );
    if (step === null) return this.#parts.onChange(null);
    const { id: turnId, kind, atMs } = thought.turn;
    const kept: KeptTurn = { localId: this.#parts.localId, turnId, kind, atMs, receipt, choices };
    await this.#commit(engine, step.state, { turn: kept });
  }

  /** Nothing is substituted for words that did not come; a turn that fails for good ends without any. */
  async #backOff(engine: Engine, turn: Turn, code: string, counts: boolean): Promise<void> {
    const before = this.#retry?.turnId === turn.id ? this.#retry.tries : 0;
    const tries = before + (counts ? 1 : 0);
    this.#failures += 1;
    const [nowMs, waitMs] = [this.#parts.now(), backOffMs(this.#failures)];
    this.#retry = { turnId: turn.id, tries, rest: new Rest() };
    this.#retry.rest.begin(nowMs, waitMs);
    this.#trouble = { code, retryAtMs: nowMs + waitMs };
    if (tries < (code === "empty" ? EMPTY_TRIES_MAX : TRIES_MAX)) return this.#parts.onChange(null);
    const pet = await this.#atHome(engine);
    const step = await this.#unlessStale(() => engine.call("skip_turn", { state: pet.state, turn, reason: "failed" }));
    if (step !== null) await this.#commit(engine, step.state);
  }

  #calm(): void {
    this.#failures = 0;
    this.#retry = null;
    this.#trouble = null;
  }

  /** After an owner's change: a turn that it made stale is cancelled, and may be replaced by another. */
  #reconsider(): void {
    const wanted = this.#pet?.view.turn ?? null;
    if (this.#thought !== null && JSON.stringify(this.#thought.turn) !== JSON.stringify(wanted))
      this.#thought.ending.abort();
  }

  // --- the state ---------------------------------------------------------------------------------------------------

  async #engine(): Promise<Engine> {
    try {
      return await this.#parts.engine();
    } catch {
      throw new HomeProblem("no_engine");
    }
  }

  /** The pet as it is stored, at home: read once, rehomed and stored again where it came from a host. */
  async #atHome(engine: Engine): Promise<Living> {
    if (this.#pet !== null) return this.#pet;
    const { records: _, brainId, now } = this.#parts;
    const pet = await this.#guarded(() => atHome(engine, this.#stored.save, brainId, now()));
    return this.#commit(engine, pet.state);
  }

  /** A new state, on the disk and then shown. The same state again is neither. */
  async #commit(engine: Engine, state: SaveText, beside: Beside = {}): Promise<Living> {
    if (this.#stopped) throw new StaleExecution("moved");
    const save = JSON.parse(state) as JsonObject;
    if (this.#isNews(state, save) || beside.granted !== undefined) {
      const row = await this.#store(save, beside);
      await this.#show(engine, state, save);
      if (beside.turn !== undefined) this.#calm(); // words that came end the trouble in the same breath
      this.#parts.onChange(row);
    } else if (this.#pet === null) {
      await this.#show(engine, state, save);
      this.#parts.onChange(null);
    }
    return this.#pet!;
  }

  #isNews(state: SaveText, save: JsonObject): boolean {
    if (state === this.#pet?.state) return false;
    return this.#pet !== null || JSON.stringify(this.#stored.save) !== JSON.stringify(save);
  }

  async #store(save: JsonObject, { turn, granted }: Beside): Promise<Row> {
    const { records, localId, now } = this.#parts;
    const read = this.#stored.revision;
    const { row } = await records.change(localId, (before) => {
      const after = committed(before, { read, save, nowMs: now() });
      const done = granted === undefined ? after : withGranted(after, granted);
      return { row: done, value: null, ...(turn ? { turns: [turn] } : {}) };
    });
    this.#stored = newestOf(row)!;
    return row;
  }

  async #show(engine: Engine, state: SaveText, save: JsonObject): Promise<void> {
    this.#pet = await this.#guarded(() => living(engine, state));
    this.#shown = { save, view: this.#pet.view };
  }

  /** The body as it is this minute, for whoever looks: nothing in it is visible change, so nothing is stored. */
  async #showNow(engine: Engine, pet: Living, nowMs: number): Promise<void> {
    if (!this.#parts.watched() || nowMs - (this.#shown?.view.bodyClockMs ?? nowMs) < TICK_MS) return;
    const step = await this.#guarded(() => engine.call("advance", { state: pet.state, nowMs }));
    if (step.turn !== null) return;
    const { view } = await living(engine, step.state);
    this.#shown = { save: JSON.parse(step.state) as JsonObject, view };
    this.#parts.onChange(null);
  }

  async #guarded<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw refusedAs(error);
    }
  }

  async #unlessStale<T>(work: () => Promise<T>): Promise<T | null> {
    try {
      return await work();
    } catch (error) {
      if (isRefusal(error, "StaleTurn")) return null;
      throw refusedAs(error);
    }
  }

  // --- time --------------------------------------------------------------------------------------------------------

  #rest(untilMs: number): null {
    const nowMs = this.#parts.now();
    const minuteMs = this.#parts.watched() ? nowMs - (nowMs % TICK_MS) + TICK_MS : untilMs;
    this.#schedule(Math.min(untilMs, minuteMs));
    return null;
  }

  #schedule(atMs: number): void {
    clearTimeout(this.#timer);
    if (this.#stopped) return;
    const waitMs = Math.max(0, atMs - this.#parts.now());
    this.#timer = setTimeout(() => this.wake(), Math.min(waitMs, LOOK_MS_MAX));
  }
}

/** What its own rules failed with: names and places, never values. */
function faultOf(error: unknown): string {
  if (error instanceof HomeProblem) return `${String(error.fields.error)} ${error.code} ${String(error.fields.path)}`;
  const { error: kind } = (error ?? {}) as { error?: unknown };
  return typeof kind === "string" ? kind : codeOf(error);
}

function codeOf(error: unknown): string {
  const { code } = (error ?? {}) as { code?: unknown };
  if (typeof code === "string") return code;
  return error instanceof Error ? error.name : "fault";
}

/** How long to wait after so many failures in a row: 30 s, 60 s, … 30 min. */
export function backOffMs(failures: number): number {
  return Math.min(BACK_OFF_FIRST_MS * 2 ** Math.min(failures - 1, 16), BACK_OFF_MAX_MS);
}
