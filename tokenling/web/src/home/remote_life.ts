/* A pet that lives at its host, as this page knows it: the host's newest snapshot, and a copy of it on the disk for the
   day on which the host cannot be reached. Nothing is simulated. The save of another pet is not shown, and one that this
   page's rules do not take never becomes the copy. */

import type { HomeSnapshot, JsonObject, Link, PetView } from "../contract.ts";
import type { Age } from "./conclusions.ts";
import { ageOf, isSamePet, snapshotTaken } from "./conclusions.ts";
import type { Checkpoint, Connection, Row, Stamp } from "./layout.ts";
import { isOlder, modeOf, newestOf } from "./layout.ts";
import { Rest } from "./pause.ts";
import { HomeProblem } from "./problems.ts";
import type { Records } from "./records.ts";
import { Serial } from "./serial.ts";
import { Sync } from "./sync.ts";
import type { SaveProblem } from "./welcome.ts";

/** The copy here need not be newer than this while the host is well; a new epoch or status is kept at once. A guess. */
const CHECKPOINT_EVERY_MS = 5000;

const SAVE_PROBLEMS = new Set<string>(["other_pet", "save_newer", "save_refused"] satisfies SaveProblem[]);

const LINK_OF_STATUS: Partial<Record<PetView["status"], Link>> = {
  parked: "paused",
  prepared: "paused",
  quarantined: "stopped",
};

export interface RemoteParts {
  localId: string;
  records: Records;
  now: () => number;
  watched: () => boolean;
  hidden: () => boolean;
  online: () => boolean;
  /** Why the rules do not take a save for this pet. Rejects when they cannot be asked. */
  inspect: (save: JsonObject) => Promise<SaveProblem | null>;
  onChange: (row: Row | null) => void;
  /** A view is here: whatever it shows is known to have happened. */
  onSeen: (view: Stamp) => void;
}

export class RemoteLife {
  #parts: RemoteParts;
  #row: Row;
  #view: PetView | null = null;
  #link: Link = "asking";
  #seen: Stamp | null;
  #count = 0;
  #seenBy = 0;
  #wentBack = false;
  #refused: HomeProblem | null = null;
  #storing: HomeProblem | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #due: { view: PetView; age: Age } | null = null;
  #justStored = new Rest();
  #writing = new Serial();
  #stopped = false;
  readonly sync: Sync;

  constructor(row: Row, parts: RemoteParts) {
    this.#parts = parts;
    this.#row = row;
    this.#seen = newestOf(row);
    this.sync = new Sync({
      ...parts,
      connection: () => this.#row.entry,
      mark: () => this.mark(),
      onView: (view, askedAt) => this.#take(view, askedAt),
      onHeard: () => this.#heard(),
      onSilence: () => this.#set(this.#parts.online() ? "lost" : "offline"),
      onRefusal: (problem) => this.#refuse(problem),
    });
  }

  start(): void {
    this.sync.start();
  }

  /** No write of it begins after this. */
  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.sync.stop();
  }

  /** The stored row has changed: a move was settled, a key is new. */
  know(row: Row): void {
    const before = this.#row;
    this.#row = row;
    const newest = newestOf(row);
    if (newest !== null && (this.#seen === null || isOlder(this.#seen, newest))) this.#saw(newest);
    if (newest?.epoch === 0) this.#seen = newest;
    if (before.entry?.key !== row.entry?.key || before.entry?.intent !== row.entry?.intent) this.sync.now();
  }

  view(): PetView | null {
    return this.#view;
  }

  /** Where the next wish goes, under the newest epoch that is known. */
  connection(): Connection | null {
    const { entry } = this.#row;
    return entry && { ...entry, epoch: this.#view?.epoch ?? entry.epoch };
  }

  link(): Link {
    return this.#link;
  }

  trouble(): HomeSnapshot["trouble"] {
    const code = this.#storing?.code ?? this.#refused?.code ?? (this.#wentBack ? "host_went_back" : null);
    return code === null ? null : { code, retryAtMs: null };
  }

  /** Stores what is newest, now. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#writing.run(async () => {
      const due = this.#due;
      this.#due = null;
      if (due !== null && !this.#stopped) await this.#store(due.view, due.age);
    });
  }

  /** A snapshot that was asked for beside the loop, stored before it returns; throws what keeps it from that. */
  async take(view: PetView, askedAt: number): Promise<void> {
    this.#take(view, askedAt);
    await this.flush();
    if (this.#storing !== null) throw this.#storing;
    if (this.#refused !== null) throw this.#refused;
  }

  mark(): number {
    return (this.#count += 1);
  }

  #take(view: PetView, askedAt: number): void {
    const held = newestOf(this.#row);
    if (held !== null && !isSamePet(held.save, view.save)) return this.#refuse(new HomeProblem("other_pet"));
    const age = ageOf(this.#seen, view, askedAt > this.#seenBy);
    if (age === "older") return;
    const before = this.#view;
    this.#view = view;
    this.#refused = null;
    if (age !== "same") this.#saw(view);
    if (age === "back") this.#wentBack = true;
    this.#link = LINK_OF_STATUS[view.status] ?? "live";
    this.#parts.onSeen(view);
    this.#parts.onChange(null);
    this.#keep(view, age, before === null || before.epoch !== view.epoch || before.status !== view.status);
  }

  #saw({ epoch, revision }: Stamp): void {
    this.#seen = { epoch, revision };
    this.#seenBy = this.#count += 1;
  }

  /** The rules may take long to load, and nobody who looks shall wait for that. */
  #keep(view: PetView, age: Age, atOnce: boolean): void {
    // a host that went back must not be taken for an older answer at the next writing
    this.#due = { view, age: this.#due?.age === "back" ? "back" : age };
    const waitMs = atOnce || age === "back" ? 0 : this.#justStored.leftMs(this.#parts.now());
    clearTimeout(this.#timer);
    if (waitMs <= 0) return void this.flush();
    this.#timer = setTimeout(() => void this.flush(), waitMs);
  }

  /** A copy that cannot be stored is told: recovery would go on from an older one. */
  async #store(view: PetView, age: Age): Promise<void> {
    const { records, localId, now, onChange } = this.#parts;
    const checkpoint: Checkpoint = {
      atMs: view.serverTime,
      epoch: view.epoch,
      revision: view.revision,
      save: view.save,
    };
    try {
      await this.#inspect(view.save);
      const { row } = await records.change(localId, (before) => ({
        row: snapshotTaken(before, checkpoint, age),
        value: null,
      }));
      this.#storing = null;
      this.#justStored.begin(now(), CHECKPOINT_EVERY_MS);
      this.#row = row;
      onChange(row);
    } catch (error) {
      this.#storing = error instanceof HomeProblem ? error : new HomeProblem("copy_unchecked");
      this.#later({ view, age });
      onChange(null);
    }
  }

  /** The good copy stays in place of one that could not be lived. */
  async #inspect(save: JsonObject): Promise<void> {
    const problem = await this.#parts.inspect(save);
    if (problem === null) return;
    // a host that sends no pet may send one when it is asked again; one of newer rules will not
    if (problem !== "save_newer") this.sync.forget();
    throw new HomeProblem(problem);
  }

  /** What could not be stored is tried again, unless something newer came; a save that is refused stays refused. */
  #later(due: { view: PetView; age: Age }): void {
    if (this.#stopped || this.#due !== null || SAVE_PROBLEMS.has(this.#storing!.code)) return;
    this.#due = due;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.flush(), CHECKPOINT_EVERY_MS);
  }

  #heard(): void {
    if (this.#refused !== null) return;
    if (this.#view !== null) this.#set(LINK_OF_STATUS[this.#view.status] ?? "live");
  }

  #refuse(problem: HomeProblem): void {
    this.#refused = problem.code === "not_found" ? null : problem;
    this.sync.forget();
    this.#parts.onChange(null);
    this.#set(problem.code === "not_found" ? "gone" : "lost");
  }

  #set(link: Link): void {
    if (this.#link === link) return;
    this.#link = link;
    this.#parts.onChange(null);
  }
}

/** Whether a row is one that a `RemoteLife` follows. */
export function isFollowed(row: Row): boolean {
  return row.entry !== null && row.entry.id !== "" && modeOf(row) === "remote";
}
