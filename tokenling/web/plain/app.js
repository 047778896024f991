/* Which screen is shown, and the moves of pets between this browser and the host. */

import { newUuid, newbornSave } from "./api.js";
import { Companion } from "./companion.js";
import { confirmDelete } from "./dialogs.js";
import { put } from "./dom.js";
import { NotASave, readSave } from "./files.js";
import { makeMeet } from "./meet.js";
import { intendDelete, intendPark, intendResume, abandon, plan, settle } from "./moves.js";
import { Outbox } from "./outbox.js";
import { hueOfSeed, moverOf } from "./snapshot.js";
import { problemText, say } from "./strings.js";

/** Pauses before a lost step of a move is done again; the last one repeats. */
const MOVE_PAUSES_MS = [1000, 2000, 4000, 8000, 15_000];
/** Long enough for a screen reader to notice that the region was emptied. A guess. */
const ANNOUNCE_AFTER_MS = 60;
const MOVING_IN = new Set(["prepare", "activate"]);
const SUPERSEDED = Symbol("superseded");
const CODE_PROBLEMS = new Set(["enrol_required", "enrol_wrong"]);

export class App {
  constructor(records, page, live) {
    Object.assign(this, { records, page, live, companion: null, names: {}, unsaid: [], remote: null, current: null });
    this.host = location.origin;
    this.moving = new Map();
    this.outboxes = new Map();
  }

  /** Once: whoever closes the page with something unconfirmed is asked first. */
  guard() {
    window.addEventListener("beforeunload", (event) => {
      if ([...this.outboxes.values()].some((outbox) => outbox.unconfirmed)) event.preventDefault();
    });
  }

  async start() {
    await this.#reload();
    const notes = await this.records.notes();
    for (const [localId, { name }] of Object.entries(notes.seen)) this.names[localId] = name;
    for (const localId of this.#mine()) if (this.remote.pets[localId].intent) this.#move(localId);
    const shown = this.#mine().filter((localId) => this.remote.pets[localId].intent?.step !== "delete");
    const first = shown.includes(notes.current) ? notes.current : shown[0];
    return first ? this.show(first) : this.meet();
  }

  /** Speaks through the one live region: what comes up together is said together, the same words twice are said
      twice. */
  announce = (text) => {
    this.unsaid.push(text);
    if (this.unsaid.length > 1) return;
    this.live.textContent = "";
    setTimeout(() => (this.live.textContent = this.unsaid.splice(0).join(" ")), ANNOUNCE_AFTER_MS);
  };

  /** A fault of the page's own (storage gone, a bug): told, never swallowed. */
  fault(error) {
    console.error(error?.name ?? "fault");
    this.announce(say("problem.other", { code: error?.name ?? "fault" }));
  }

  // --- screens --------------------------------------------------------------------------------------------------

  async show(localId) {
    await this.#reload();
    const entry = this.remote.pets[localId];
    if (!entry) return this.meet();
    this.#leave();
    this.current = localId;
    await this.records.setNotes((notes) => ({ ...notes, current: localId }));
    if (MOVING_IN.has(entry.intent?.step)) return this.#showMoving(localId);
    this.companion = new Companion({ records: this.records, localId, entry, app: this });
    put(this.page, this.companion.frame.element);
    await this.companion.start();
  }

  async meet() {
    this.#leave();
    this.current = null;
    // one seed for a whole meeting: a second try meets the same egg
    const petSeed = newUuid().replaceAll("-", "");
    const pet = { stage: "egg", hue: await hueOfSeed(petSeed) };
    const act = {
      adopt: (name, code) => this.#adopt(name, petSeed, code),
      importSave: (file) => this.importSave(file),
      back: () => this.start(),
    };
    this.screen = makeMeet(act, { host: location.host, canGoBack: this.#mine().length > 0, pet });
    put(this.page, this.screen.element);
    this.screen.askName();
  }

  /** Every pet of this browser but those on their way out, for the list in the settings. */
  pets() {
    const entries = Object.entries(this.remote.pets).filter(([, entry]) => entry.intent?.step !== "delete");
    return entries.map(([localId, entry]) => ({
      localId,
      name: this.names[localId],
      current: localId === this.current,
      host: entry.host === this.host ? null : new URL(entry.host).host,
    }));
  }

  async #showMoving(localId) {
    const [kept] = await this.records.checkpoints(localId);
    const act = {
      retry: (code) => this.#retry(localId, code),
      cancel: () => this.#cancel(localId),
      importSave: (file) => this.importSave(file),
    };
    this.screen = makeMeet(act, { host: location.host, canGoBack: false, pet: moverOf(kept?.save ?? {}) });
    put(this.page, this.screen.element);
    this.screen.moving();
    this.#moveAndShow(localId);
  }

  #leave() {
    this.companion?.stop();
    this.companion = null;
    this.screen = null;
  }

  // --- moves ----------------------------------------------------------------------------------------------------

  /** Asks the host for a newborn and moves it in. Until its save is on disk here, a lost answer costs nothing. */
  async #adopt(name, petSeed, code) {
    const screen = this.screen;
    screen.moving();
    try {
      const save = await this.#newborn(name, petSeed, Intl.DateTimeFormat().resolvedOptions().timeZone ?? "UTC");
      await this.adoptSave(save, { enrolCode: code });
    } catch (problem) {
      screen.askName();
      screen.tell(problemText(problem));
    }
  }

  async #newborn(name, petSeed, timeZone) {
    try {
      return await newbornSave(this.host, { name, timeZone, petSeed });
    } catch (problem) {
      // a browser may name a zone that the engine's zone data does not have
      if (problem.fields?.path !== "timeZone" || timeZone === "UTC") throw problem;
      return this.#newborn(name, petSeed, "UTC");
    }
  }

  /** Moves a save in as another pet; never overwrites one. */
  async adoptSave(save, choices = {}) {
    const localId = await plan(this.records, this.host, save);
    this.names[localId] = save.name;
    await this.records.setNotes((notes) => ({
      ...notes,
      seen: { ...notes.seen, [localId]: { atMs: Date.now(), name: save.name } },
    }));
    // a wish, not a need: the browser may refuse, and the key is safe for now either way
    navigator.storage?.persist?.().catch(() => {});
    this.firstChoices = choices;
    await this.show(localId);
  }

  async importSave(file) {
    try {
      await this.adoptSave(await readSave(file));
    } catch (error) {
      const text =
        error instanceof NotASave ? say("import.bad", { why: say(`import.why.${error.why}`) }) : problemText(error);
      // each of the two says it aloud by itself
      (this.companion ?? this.screen)?.tell(text);
    }
  }

  async park(localId, epoch) {
    await intendPark(this.records, localId, epoch);
    this.#move(localId);
  }

  async resume(localId, epoch) {
    await intendResume(this.records, localId, epoch);
    this.#move(localId);
  }

  async remove(localId, epoch, name, keepFile) {
    if (!(await confirmDelete(name, keepFile))) return;
    await intendDelete(this.records, localId, epoch);
    if (await this.#move(localId)) this.announce(say("delete.done", { name }));
  }

  async forget(localId) {
    await this.records.forgetPet(localId);
    await this.start();
  }

  /** One outbox a pet for as long as the page is open: its repeats must not end with a screen. */
  outboxOf(localId, host) {
    if (!this.outboxes.has(localId)) this.outboxes.set(localId, new Outbox(host));
    return this.outboxes.get(localId);
  }

  /** What is known of a pet's running move, for its banner: `{text, actions}` or null. */
  moveOf(localId) {
    return this.moving.get(localId)?.banner ?? null;
  }

  async #moveAndShow(localId, choices = this.firstChoices ?? {}) {
    const screen = this.screen;
    screen.moving();
    const onLost = () => screen.moving({ problem: say("move.lost") });
    const problem = await this.#settled(localId, choices, onLost);
    if (this.screen !== screen || problem === SUPERSEDED) return;
    if (!problem) return this.show(localId);
    screen.moving({ problem: problemText(problem), needsCode: CODE_PROBLEMS.has(problem.code) });
  }

  #retry(localId, code) {
    const waiting = this.moving.get(localId);
    if (waiting && !code) waiting.wake();
    else this.#moveAndShow(localId, { enrolCode: code });
  }

  /** Gives a pet up that has not moved in. The host is told in the background, however long that takes. */
  async #cancel(localId) {
    const entry = (await this.records.remote()).pets[localId];
    if (entry) await intendDelete(this.records, localId, entry.epoch);
    this.#move(localId);
    this.start();
  }

  /** A move in the background of a pet that is (or was) on the screen. Returns whether it was settled. */
  async #move(localId, choices = {}) {
    const problem = await this.#settled(localId, choices, () =>
      this.#showMove(localId, say("move.lost"), [this.#again(localId)]),
    );
    if (problem === SUPERSEDED) return false;
    if (!problem) return this.#moved(localId);
    const actions = [this.#giveUp(localId)];
    if (problem.code === "other_device") actions.unshift(this.#takeOver(localId));
    this.#showMove(localId, problemText(problem), actions);
    return false;
  }

  async #moved(localId) {
    await this.#reload();
    if (this.current !== localId) return true;
    if (!this.remote.pets[localId]) await this.start();
    else if (this.companion) await this.show(localId);
    return true;
  }

  /** Settles a pet's intent, repeating what was lost until it is answered. Returns null, what the host
      refused, or `SUPERSEDED` when a newer attempt took over. */
  async #settled(localId, choices, onLost) {
    const move = { banner: null, wake: () => {} };
    this.moving.get(localId)?.stop?.();
    this.moving.set(localId, move);
    let stopped = false;
    move.stop = () => {
      stopped = true;
      move.wake();
    };
    for (let tries = 0; !stopped; tries += 1) {
      try {
        await settle(this.records, localId, choices);
        this.moving.delete(localId);
        return null;
      } catch (problem) {
        if (!("lost" in problem)) this.fault(problem);
        if (!problem.lost) {
          this.moving.delete(localId);
          return problem;
        }
        if (!stopped) onLost();
        await new Promise((resolve) => {
          move.wake = resolve;
          setTimeout(resolve, MOVE_PAUSES_MS[Math.min(tries, MOVE_PAUSES_MS.length - 1)]);
        });
      }
    }
    return SUPERSEDED;
  }

  #showMove(localId, text, actions) {
    const move = this.moving.get(localId) ?? {};
    this.moving.set(localId, { ...move, banner: { text, actions } });
    this.companion?.render();
  }

  #again(localId) {
    return { label: say("move.retry"), run: () => this.moving.get(localId)?.wake() };
  }

  #takeOver(localId) {
    return { label: say("settings.takeover"), run: () => this.#move(localId, { takeover: true }) };
  }

  #giveUp(localId) {
    const run = async () => {
      await abandon(this.records, localId);
      this.moving.delete(localId);
      await this.show(localId);
    };
    return { label: say("move.cancel"), run };
  }

  // --- records --------------------------------------------------------------------------------------------------

  async #reload() {
    this.remote = await this.records.remote();
  }

  #mine() {
    return Object.keys(this.remote.pets).filter((localId) => this.remote.pets[localId].host === this.host);
  }
}
