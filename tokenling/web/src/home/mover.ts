/* Carries a pet's stored intent to its end: asks, concludes, stores, asks again. What was lost is repeated, the same
   request under the same operation id, until a definite answer is here; also after a reload, for the intent is stored.
   */

import type { JsonObject, MoveState } from "../contract.ts";
import type { Answer, MoveRequest, Then, Told } from "./conclusions.ts";
import { conclude, requestOf } from "./conclusions.ts";
import type { Ids } from "./ids.ts";
import { isAbandonable } from "./intents.ts";
import type { Intent, Row } from "./layout.ts";
import { Pause, pauseMs } from "./pause.ts";
import { HomeProblem, HostSilent } from "./problems.ts";
import type { Records } from "./records.ts";
import type { SaveProblem } from "./welcome.ts";
import * as wire from "./wire.ts";

/** Pauses before a lost step is done again; the last one repeats. */
const MOVE_PAUSES_MS = [1000, 2000, 4000, 8000, 15_000, 30_000];
/** Definite answers of one run: prepare, activate, and both again a few times; more would be going in circles. */
const STEPS_MAX = 16;

/** What may go away by itself: a disk gets room again. */
const PASSING = new Set(["storage_full", "records_failed"]);

export interface MoverParts {
  localId: string;
  records: Records;
  ids: Ids;
  now: () => number;
  /** Why a host's save is not taken for the pet of this row. Rejects when the rules cannot be asked. */
  inspect: (row: Row, save: JsonObject) => Promise<SaveProblem | null>;
  /** The row that was stored. */
  onRow: (row: Row) => void;
  onChange: () => void;
  /** The host knows no such pet. */
  onGone: () => void;
}

export class Mover {
  #parts: MoverParts;
  #running: Promise<void> | null = null;
  #stopped = false;
  #pause = new Pause();
  #problem: MoveState["problem"] = null;
  #intent: Intent | null = null;
  #told: Told | null = null;
  #enrolCode: string | undefined;

  constructor(parts: MoverParts) {
    this.#parts = parts;
  }

  /** The move under way, as it is shown. */
  state(): MoveState | null {
    if (this.#intent === null) return null;
    const { to, step } = this.#intent;
    return { to: to ?? "delete", step, abandonable: isAbandonable(this.#intent), problem: this.#problem };
  }

  question(): Told | null {
    return this.#told;
  }

  /** The owner has answered, or the row has changed under it. */
  forget(): void {
    this.#told = null;
    this.#problem = null;
    this.#pause.cut();
  }

  /** What the owner alone can decide was found out elsewhere. */
  ask(told: Told): void {
    this.#told = told;
    this.#parts.onChange();
  }

  stop(): void {
    this.#stopped = true;
    this.#pause.cut();
  }

  /** Goes on with what is stored, unless the owner has to decide first. */
  start(intent: Intent): void {
    const waitsForOwner =
      this.#intent?.operationId === intent.operationId && (this.#problem !== null || this.#told !== null);
    if (this.#running === null && !waitsForOwner) this.run().catch(() => undefined); // what stops it is shown
  }

  /** Tries again now. */
  retry(): void {
    this.#pause.cut();
    if (this.#running === null) this.run().catch(() => undefined); // what stops it is shown
  }

  /** The code that the next preparation brings to a host that asks for one; kept in memory only. */
  set enrolCode(code: string | undefined) {
    this.#enrolCode = code;
  }

  /** Resolves when no intent is left. Rejects with what only the owner can settle: a refusal, or `two_places`, `lost`.
   */
  run(): Promise<void> {
    this.#pause.cut();
    this.#running ??= this.#settle().finally(() => (this.#running = null));
    return this.#running;
  }

  async #settle(): Promise<void> {
    let asked: MoveRequest | null = null;
    for (let steps = 0, tries = 0; !this.#stopped;) {
      const row = await this.#parts.records.row(this.#parts.localId);
      this.#show(row);
      const intent = row.entry?.intent ?? null;
      if (intent === null) return;
      const request: MoveRequest | null = asked ?? requestOf(row);
      if (request === null) return this.#stuck("unknown_intent");
      const answer = await this.#answer(row, request);
      if (answer instanceof HostSilent) {
        asked = null;
        await this.#wait(answer, tries++);
        continue;
      }
      const then = await this.#conclude(intent, request, answer);
      if (then instanceof HostSilent) {
        asked = null;
        await this.#wait(then, tries++);
        continue;
      }
      tries = 0;
      asked = then.kind === "ask" ? then.request : null;
      if (this.#ends(then)) return;
      steps += 1;
      if (steps >= STEPS_MAX) return this.#stuck("unsettled");
    }
    throw new HomeProblem("not_running");
  }

  #show(row: Row): void {
    const intent = row.entry?.intent ?? null;
    if (intent?.operationId !== this.#intent?.operationId) this.#told = null;
    this.#intent = intent;
    this.#problem = null;
    this.#parts.onChange();
  }

  async #answer(row: Row, request: MoveRequest): Promise<Answer | HostSilent> {
    try {
      const answer = await wire.moved(row.entry!, row.deviceId, request, this.#enrolCode);
      return request.kind === "transfer" && request.to === "local" ? await this.#inspected(row, answer) : answer;
    } catch (error) {
      if (error instanceof HostSilent) return error;
      throw error;
    }
  }

  /** A save that comes home is asked of the rules before it is taken; without rules the step is done again later. */
  async #inspected(row: Row, answer: Answer): Promise<Answer> {
    if (answer.status !== 200 || answer.save === null || answer.saveProblem) return answer;
    const saveProblem = await this.#parts.inspect(row, answer.save).catch(() => {
      throw new HostSilent("no_engine");
    });
    return { ...answer, saveProblem };
  }

  /** An answer that the disk does not take is as good as lost: the pet would be nowhere until a reload. */
  async #conclude(intent: Intent, request: MoveRequest, answer: Answer): Promise<Then | HostSilent> {
    const { records, localId, ids, now, onRow } = this.#parts;
    const means = { ids, nowMs: now() };
    try {
      const { row, value } = await records.change(localId, (before) => {
        const { row: after, then } = conclude(before, intent, request, answer, means);
        return { row: after, value: then };
      });
      this.#intent = row.entry?.intent ?? null;
      onRow(row);
      return value;
    } catch (error) {
      if (error instanceof HomeProblem && PASSING.has(error.code)) return new HostSilent(error.code);
      throw error;
    }
  }

  /** Whether the run is over; throws what only the owner can settle. */
  #ends(then: Then): boolean {
    switch (then.kind) {
      case "settled":
        this.#parts.onChange();
        return true;
      case "next":
      case "ask":
        return false;
      case "gone":
        this.#parts.onGone();
        throw new HomeProblem("not_found");
      case "question":
        this.#told = then.question;
        return this.#stuck(then.question.kind);
      case "problem":
        return this.#stuck(then.code, then.fields);
    }
  }

  #stuck(code: string, fields: HomeProblem["fields"] = {}): never {
    if (this.#intent !== null) this.#problem = { code, lost: false, retryAtMs: null, fields };
    this.#parts.onChange();
    throw new HomeProblem(code, fields);
  }

  async #wait(silent: HostSilent, tries: number): Promise<void> {
    const waitMs = Math.max(pauseMs(MOVE_PAUSES_MS, tries), silent.retryAfterMs ?? 0);
    this.#problem = { code: silent.code, lost: true, retryAtMs: this.#parts.now() + waitMs, fields: {} };
    this.#parts.onChange();
    await this.#pause.wait(waitMs);
  }
}
