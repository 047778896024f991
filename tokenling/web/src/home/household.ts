/* All pets of this browser: the one way into this room. Opens the records, shows what is there, and lets the tab that
   holds the lock run it. What an owner sets out to do is decided in `intents.ts` and stored before anything leaves. */

import type {
  CardFacts,
  Home,
  HomeSnapshot,
  HostFacts,
  Household,
  HouseholdParts,
  HouseholdSnapshot,
  JsonObject,
  MovePreview,
  PageNotes,
  PairingCard,
  PetCopy,
  PetSummary,
} from "../contract.ts";
import * as cards from "./cards.ts";
import type { Told } from "./conclusions.ts";
import { questionResolved } from "./conclusions.ts";
import * as files from "./files.ts";
import { Once } from "./once.ts";
import { RANDOM_IDS } from "./ids.ts";
import type { Ids } from "./ids.ts";
import * as intents from "./intents.ts";
import { Lane } from "./lane.ts";
import type { Row } from "./layout.ts";
import { isAt, modeOf, nameOf, newestOf, wasLiving, withEntry } from "./layout.ts";
import { Leader } from "./leader.ts";
import { PetHome } from "./pet_home.ts";
import type { HouseParts } from "./pet_home.ts";
import { HomeProblem } from "./problems.ts";
import { Records } from "./records.ts";
import { StopKeeper } from "./stop_keeper.ts";
import { saveProblemOf } from "./welcome.ts";
import * as wire from "./wire.ts";

/** Opens this browser's household. Rejects with `RecordsTooNew` when a newer app has written here. */
export async function openHousehold(parts: HouseholdParts): Promise<Household> {
  const records = await Records.open(RANDOM_IDS);
  const house = new House(records, parts, RANDOM_IDS);
  await house.start();
  return house;
}

class House implements Household {
  #records: Records;
  #site: HouseholdParts["site"];
  #ids: Ids;
  #now: () => number;
  #engine: Once<Awaited<ReturnType<HouseholdParts["engine"]>>>;
  #parts: HouseParts;
  #homes = new Map<string, PetHome>();
  #rows: Row[] = [];
  #listeners = new Set<(snapshot: HouseholdSnapshot) => void>();
  #leader: Leader;
  #keeper: StopKeeper;
  #persisted: boolean | null = null;
  #outdated: HouseholdSnapshot["outdated"] = null;
  #telling = false;
  #ending = new AbortController();

  constructor(records: Records, parts: HouseholdParts, ids: Ids) {
    this.#records = records;
    this.#site = parts.site;
    this.#ids = ids;
    this.#now = parts.now ?? (() => Date.now());
    this.#engine = new Once(parts.engine);
    const brain = new Once(parts.brain);
    this.#parts = {
      records,
      ids,
      lane: new Lane(this.#now),
      engine: () => this.#engine.get(),
      brain: () => brain.get(),
      brainId: parts.site.brain?.id ?? null,
      now: this.#now,
      leads: () => this.#leader.role === "leader",
      hidden: () => document.hidden,
      online: () => navigator.onLine,
      asking: (localId) => this.#keeper.asking(localId)?.told ?? null,
      onStored: (row) => this.#stored(row),
      orOutdated: (work) => this.#orOutdated(work),
    };
    this.#keeper = new StopKeeper({
      ...this.#parts,
      onRow: (row) => this.#stored(row),
      onChange: () => this.#tellAll(),
    });
    this.#leader = new Leader({
      onLead: () => this.#orOutdated(this.#lead()),
      onYield: () => this.#yield(),
      onRole: () => this.#tellAll(),
      onChanged: () => this.#orOutdated(this.#reload()),
    });
    records.onClosed = (why) => this.#end(why);
  }

  async start(): Promise<void> {
    await this.#reload();
    if (await navigator.storage?.persisted?.()) this.#persisted = true;
    const { signal } = this.#ending;
    document.addEventListener("visibilitychange", () => this.#seen(), { signal });
    for (const change of ["online", "offline", "pageshow"])
      window.addEventListener(change, () => this.#wake(), { signal });
    window.addEventListener("pagehide", () => this.#flush(), { signal });
    await this.#leader.start();
  }

  /** What cannot be read any more ends this tab's work, and is told. */
  #orOutdated(work: Promise<void>): void {
    work.catch(() => this.#end("records"));
  }

  #end(why: HouseholdSnapshot["outdated"]): void {
    if (this.#ending.signal.aborted) return;
    this.#outdated = why;
    this.#ending.abort();
    void this.#leader.close();
    this.#tellAll();
  }

  // --- the rows ----------------------------------------------------------------------------------------------------

  async #reload(): Promise<void> {
    this.#rows = await this.#records.rows();
    for (const [localId] of this.#homes) if (!this.#rows.some((row) => row.localId === localId)) this.#left(localId);
    for (const row of this.#rows) this.#homeOf(row).know(row);
    this.#keeper.know(this.#rows[0]?.stops ?? (await this.#records.row("")).stops, this.#homes.keys());
    this.#tell();
  }

  #homeOf(row: Row): PetHome {
    const known = this.#homes.get(row.localId);
    if (known) return known;
    const home = new PetHome(row, this.#parts);
    this.#homes.set(row.localId, home);
    return home;
  }

  #left(localId: string): void {
    void this.#homes.get(localId)?.end();
    this.#homes.delete(localId);
  }

  /** Something was stored here: this pet, the stops and the other tabs hear of it. */
  #stored(row: Row): void {
    const { localId, stops } = row;
    const gone = row.kept === null && row.entry === null;
    const others = this.#rows.map((one) =>
      one.localId === localId ? row : one.stops === stops ? one : { ...one, stops },
    );
    const known = others.some((one) => one.localId === localId);
    this.#rows = gone ? others.filter((one) => one.localId !== localId) : known ? others : [...others, row];
    if (gone) this.#left(localId);
    else this.#homeOf(row).know(row);
    this.#keeper.know(stops, this.#homes.keys());
    this.#leader.tell();
    this.#tell();
  }

  async #change(localId: string, decide: (row: Row) => Row): Promise<Row> {
    if (!this.#parts.leads()) throw new HomeProblem("other_tab");
    const { row } = await this.#records.change(localId, (before) => ({ row: decide(before), value: null }));
    this.#stored(row);
    return row;
  }

  // --- tabs --------------------------------------------------------------------------------------------------------

  /** What is on the disk is what another tab left. */
  async #lead(): Promise<void> {
    await this.#reload();
    if (this.#parts.leads()) this.#keeper.start();
  }

  async #yield(): Promise<void> {
    this.#keeper.stop();
    await Promise.all(
      [...this.#homes.values()].map(async (home) => {
        await home.flush();
        await home.end();
        home.tell();
      }),
    );
  }

  async takeTab(): Promise<void> {
    await this.#leader.take();
  }

  retire(): void {
    this.#end("newer_app");
  }

  async close(): Promise<void> {
    this.#ending.abort();
    await this.#leader.close();
    this.#records.close();
  }

  #seen(): void {
    if (document.hidden) this.#flush();
    this.#wake();
  }

  #flush(): void {
    for (const home of this.#homes.values()) void home.flush();
  }

  #wake(): void {
    for (const home of this.#homes.values()) home.wake();
    this.#keeper.retry();
  }

  // --- what is seen ------------------------------------------------------------------------------------------------

  snapshot(): HouseholdSnapshot {
    return {
      pets: this.#rows.map(summaryOf),
      tab: this.#leader.role,
      stops: this.#keeper.pending(),
      persisted: this.#persisted,
      outdated: this.#outdated,
    };
  }

  subscribe(listener: (snapshot: HouseholdSnapshot) => void): () => void {
    this.#listeners.add(listener);
    listener(this.snapshot());
    return () => {
      this.#listeners.delete(listener);
    };
  }

  #tell(): void {
    if (this.#telling || this.#listeners.size === 0) return;
    this.#telling = true;
    queueMicrotask(() => {
      this.#telling = false;
      for (const listener of [...this.#listeners]) listener(this.snapshot());
    });
  }

  #tellAll(): void {
    this.#tell();
    for (const home of this.#homes.values()) home.tell();
  }

  home(localId: string): Home {
    return this.#pet(localId);
  }

  #pet(localId: string): PetHome {
    const home = this.#homes.get(localId);
    if (home === undefined) throw new HomeProblem("no_such_pet");
    return home;
  }

  // --- pets come ---------------------------------------------------------------------------------------------------

  /** The engine, or that this site's rules cannot be had just now: told as such, and tried again when next needed. */
  async #rules(): ReturnType<HouseholdParts["engine"]> {
    try {
      return await this.#engine.get();
    } catch {
      throw new HomeProblem("no_engine");
    }
  }

  async adopt({ name, petSeed, timeZone }: { name: string; petSeed: string; timeZone?: string }): Promise<string> {
    const engine = await this.#rules();
    const zone = timeZone ?? Intl.DateTimeFormat().resolvedOptions().timeZone ?? "UTC";
    const brainId = this.#site.brain?.id ?? this.#site.hostBrain;
    if (brainId == null) throw new HomeProblem("no_brain_here");
    const save = await files.newborn(engine, { name, petSeed, timeZone: zone, brainId, nowMs: this.#now() });
    const localId = await this.#moveIn(save);
    const { hostBrain, defaultHost } = this.#site;
    // it can think on that host alone; a host that does not take it just now is asked again from the pet's own page
    if (hostBrain && defaultHost) await this.moveToHost(localId, defaultHost).catch(() => undefined);
    return localId;
  }

  async importSave(text: string): Promise<string> {
    return this.#moveIn(await files.imported(await this.#rules(), text));
  }

  async #moveIn(save: JsonObject): Promise<string> {
    const atMs = this.#now();
    const checkpoint = { atMs, epoch: 0, revision: 1, save };
    const { localId } = await this.#change(this.#ids.uuid(), (row) => ({
      ...row,
      kept: { v: 1, addedMs: atMs, checkpoints: [checkpoint] },
    }));
    return localId;
  }

  async exportSave(localId: string): Promise<{ fileName: string; text: string }> {
    const home = this.#pet(localId);
    if (this.#outdated === null) await home.flush();
    const save = home.snapshot().view?.save ?? newestOf(home.row)?.save;
    if (save === undefined) throw new HomeProblem("no_checkpoint");
    return files.exported(save, this.#now());
  }

  async keepExported(localId: string): Promise<void> {
    const exportedMs = this.#now();
    const decide = (row: Row) => ({
      row: row.kept === null ? row : { ...row, kept: { ...row.kept, exportedMs } },
      value: null,
    });
    this.#stored((await this.#records.change(localId, decide)).row);
  }

  // --- pets move ---------------------------------------------------------------------------------------------------

  async previewMove(localId: string, origin: string): Promise<MovePreview> {
    const host = await wire.health(wire.originOf(origin));
    const { engine } = await (await this.#rules()).call("versions", {});
    const brainId = brainOf(this.#pet(localId).row);
    const warnings = [
      { code: "other_brain", forbids: true, applies: host.release !== brainId },
      { code: "older_engine", forbids: false, applies: host.engine < engine },
      { code: "not_ready", forbids: true, applies: !host.ready },
    ];
    return { host, warnings: applying(warnings) };
  }

  async previewMoveHere(localId: string): Promise<MovePreview> {
    const { row } = this.#pet(localId);
    const brainId = brainOf(row);
    const here = this.#site.brain?.id;
    const origin = row.entry?.host ?? "";
    const unknown: HostFacts = { origin, engine: 0, release: brainId, features: [], ready: false };
    const host = await wire.health(origin).catch(() => unknown);
    const { engine } = await (await this.#rules()).call("versions", {});
    const warnings = [
      { code: this.#unhoused(), forbids: true, applies: here === undefined },
      { code: "other_brain", forbids: true, applies: here !== undefined && here !== brainId },
      { code: "older_engine", forbids: true, applies: host.engine > engine },
      { code: "not_ready", forbids: false, applies: !host.ready },
    ];
    return { host, warnings: applying(warnings) };
  }

  async moveToHost(localId: string, origin: string, { enrolCode }: { enrolCode?: string } = {}): Promise<void> {
    const host = wire.originOf(origin);
    const { mover } = this.#pet(localId);
    mover.enrolCode = enrolCode;
    await this.#change(localId, (row) => (isPreparing(row, host) ? row : intents.moveOut(row, host, this.#ids)));
    await this.#settled(localId, "remote");
  }

  async moveHere(localId: string): Promise<void> {
    const { save } = await this.#pet(localId).refresh();
    await this.#checkWelcome(save);
    await this.#change(localId, (row) => intents.comeHome(row, this.#ids));
    await this.#settled(localId, "local");
  }

  /** Why no pet can think in this page. */
  #unhoused(): "not_portable" | "no_brain_here" {
    return this.#site.hostBrain ? "not_portable" : "no_brain_here";
  }

  /** Nothing is parked that could not live here. */
  async #checkWelcome(save: JsonObject): Promise<void> {
    const here = this.#site.brain?.id;
    if (here === undefined) throw new HomeProblem(this.#unhoused());
    if ((save.hosting as JsonObject | undefined)?.brainId !== here) throw new HomeProblem("other_brain", { here });
    await files.imported(await this.#rules(), JSON.stringify(save));
  }

  async resume(localId: string): Promise<void> {
    await this.#resume(localId, false);
  }

  async takeOver(localId: string): Promise<void> {
    await this.#resume(localId, true);
  }

  async #resume(localId: string, takeover: boolean): Promise<void> {
    await this.#pet(localId).refresh();
    await this.#change(localId, (row) => intents.resumeThere(row, takeover, this.#ids));
    await this.#settled(localId, "remote");
  }

  async #settled(localId: string, mode: "local" | "remote"): Promise<void> {
    await this.#pet(localId).mover.run();
    const { row } = this.#pet(localId);
    if (modeOf(row) !== mode) throw new HomeProblem("abandoned");
  }

  async copies(localId: string): Promise<PetCopy[]> {
    await this.#pet(localId).flush();
    const { kept } = await this.#records.row(localId);
    const looked = (kept?.checkpoints ?? []).map(async ({ atMs, revision, save }) => {
      return { atMs, revision, problem: await this.#problemOf(save) };
    });
    return Promise.all(looked);
  }

  /** Why the rules do not take a copy; null also while they cannot be asked: a pet can wait for its rules. */
  #problemOf(save: JsonObject): Promise<string | null> {
    return saveProblemOf(this.#parts.engine, null, save).catch(() => null);
  }

  async recover(localId: string, from?: intents.CopyStamp): Promise<void> {
    const copy = await this.#chosenCopy(localId, from);
    await this.#change(localId, (row) => intents.recover(row, this.#ids, this.#now(), copy));
    this.#pet(localId).mover.forget();
  }

  async goBack(localId: string, from: intents.CopyStamp): Promise<void> {
    const copy = await this.#chosenCopy(localId, from);
    await this.#change(localId, (row) => intents.goBack(row, copy));
    await this.#pet(localId).reload();
  }

  /** The copy that is meant, the newest where none is; one that cannot be lived is refused. */
  async #chosenCopy(localId: string, from: intents.CopyStamp | undefined): Promise<intents.CopyStamp> {
    const copies = await this.copies(localId);
    const chosen = copies.find(({ atMs, revision }) => !from || (atMs === from.atMs && revision === from.revision));
    if (chosen === undefined) throw new HomeProblem("no_checkpoint");
    if (chosen.problem !== null) throw new HomeProblem(chosen.problem);
    return chosen;
  }

  async abandonMove(localId: string): Promise<void> {
    await this.#change(localId, intents.abandon);
    this.#pet(localId).mover.forget();
  }

  async resolveQuestion(localId: string, keep: "here" | "there" | "another"): Promise<void> {
    const stop = this.#keeper.asking(localId);
    if (stop !== null && keep !== "another") return this.#keeper.resolve(stop.stop.stopId, keep);
    const home = this.#pet(localId);
    const told: Told | null = home.question();
    if (told === null) throw new HomeProblem("no_question");
    const means = { ids: this.#ids, nowMs: this.#now() };
    home.mover.forget();
    await this.#change(localId, (row) => questionResolved(row, told, keep, means));
  }

  async keepAsAnother(localId: string): Promise<void> {
    await this.#change(localId, intents.asAnother);
    this.#pet(localId).mover.forget();
  }

  async changeKey(localId: string): Promise<void> {
    await this.#pet(localId).refresh().catch(unlessNewer);
    await this.#change(localId, (row) => intents.changeKey(row, this.#ids));
    await this.#pet(localId).mover.run();
  }

  async resolveStop(stopId: string, keep: "here" | "there"): Promise<void> {
    await this.#keeper.resolve(stopId, keep);
  }

  // --- pets go -----------------------------------------------------------------------------------------------------

  async remove(localId: string): Promise<void> {
    const row = await this.#change(localId, (before) => intents.deleteEverywhere(before, this.#ids));
    if (row.entry !== null) await this.#pet(localId).mover.run();
  }

  async forget(localId: string): Promise<void> {
    await this.#change(localId, intents.gone);
  }

  // --- cards -------------------------------------------------------------------------------------------------------

  async card(localId: string): Promise<PairingCard> {
    const { row } = this.#pet(localId);
    if (row.entry === null || row.entry.id === "" || !wasLiving(row)) throw new HomeProblem("not_hosted");
    return cards.written(row.entry);
  }

  async readCard(text: string): Promise<CardFacts> {
    const card = await cards.read(text);
    return { host: card.host, petId: card.id, known: this.#known(card)?.localId ?? null };
  }

  #known(card: cards.Card): Row | null {
    return this.#rows.find(({ entry }) => entry !== null && isAt(entry, { ...card, epoch: 0 })) ?? null;
  }

  async joinCard(text: string): Promise<string> {
    const card = await cards.read(text);
    const found = await wire.view({ ...card, epoch: 1 });
    if (found === null) throw new HomeProblem("unexpected_answer");
    const { view } = found;
    if (view.status === "prepared") throw new HomeProblem("not_hosted");
    const known = this.#known(card);
    const problem = await saveProblemOf(() => this.#rules(), known && (newestOf(known)?.save ?? null), view.save);
    if (problem !== null) throw new HomeProblem(problem);
    if (known !== null) {
      await this.#change(known.localId, (row) => (row.entry?.intent ? row : withEntry(row, { key: card.key })));
      return known.localId;
    }
    const { epoch, revision, save } = view;
    const entry = { ...card, epoch, intent: null, checkpointRevision: revision, mode: "remote" as const, living: true };
    const checkpoints = [{ atMs: view.serverTime, epoch, revision, save }];
    const { localId } = await this.#change(this.#ids.uuid(), (row) => ({
      ...row,
      entry,
      kept: { v: 1, addedMs: this.#now(), checkpoints },
    }));
    return localId;
  }

  // --- the browser -------------------------------------------------------------------------------------------------

  async persist(): Promise<boolean> {
    this.#persisted = (await navigator.storage?.persist?.()) ?? false;
    this.#tell();
    return this.#persisted;
  }

  notes(): Promise<PageNotes> {
    return this.#records.notes();
  }

  setNotes(change: (notes: PageNotes) => PageNotes): Promise<void> {
    return this.#records.setNotes(change);
  }
}

/** What a newer host sends is no copy for here; a key can be changed all the same. */
function unlessNewer(error: unknown): void {
  if (!(error instanceof HomeProblem && error.code === "save_newer")) throw error;
}

/** The same move again, with a code this time. */
function isPreparing(row: Row, host: string): boolean {
  return row.entry?.intent?.step === "prepare" && row.entry.host === host;
}

function summaryOf(row: Row): PetSummary {
  const save = newestOf(row)?.save ?? {};
  const character = save.character as JsonObject | undefined;
  const hue = character?.hue;
  const host = row.entry?.host ?? "";
  return {
    localId: row.localId,
    name: nameOf(row),
    hue: typeof hue === "number" ? hue : null,
    stage: typeof save.stage === "string" ? save.stage : "",
    kind: modeOf(row),
    host: host === "" ? null : host,
    exportedAtMs: row.kept?.exportedMs ?? null,
    leaving: row.entry?.intent?.step === "delete",
  };
}

function brainOf(row: Row): string {
  const hosting = newestOf(row)?.save.hosting as JsonObject | undefined;
  return typeof hosting?.brainId === "string" ? hosting.brainId : "";
}

function applying(warnings: { code: string; forbids: boolean; applies: boolean }[]): MovePreview["warnings"] {
  return warnings.filter(({ applies }) => applies).map(({ code, forbids }) => ({ code, forbids }));
}

export type { HomeSnapshot };
