/* One pet on the screen: its snapshots come in, the owner's wishes go out, and both meet in one picture. */

import { PetHost } from "./api.js";
import { ROUNDS, playCatch } from "./catch.js";
import { pick } from "./dialogs.js";
import { newsSince } from "./events.js";
import { download } from "./files.js";
import { makeFrame } from "./frame.js";
import { FOODS, GIFTS, TOYS } from "./items.js";
import { checkpointOf, checkpointed } from "./moves.js";
import { OutboxFull } from "./outbox.js";
import { modelOf } from "./snapshot.js";
import { nameOf, problemText, say } from "./strings.js";
import { Sync } from "./sync.js";
import { awayCard } from "./talk.js";
import { clockTime } from "./times.js";

const ITEMS = { food: FOODS, toy: TOYS, gift: GIFTS };
/** Away for less is not away. */
const AWAY_MS = 5 * 60_000;
const TICK_MS = 30_000;
/** A browser's copy of the pet need not be newer than this while the host is well. */
const CHECKPOINT_EVERY_MS = 20_000;
const PROBLEM_SHOWN_MS = 12_000;
/** A pet that does not live has no live link, however well the host answers. */
const LINK_OF_STATUS = { parked: "paused", prepared: "paused", quarantined: "stopped" };
const SPARK_OF_EFFECT = {
  feed: "crumb",
  wash: "bubble",
  tuck: "star",
  stroke: "heart",
  accept: "star",
  hatch: "star",
  grow: "star",
  game_end: "star",
  remember: "leaf",
  want: "note",
};

export class Companion {
  /** `app` offers what goes beyond one pet: `announce`, `pets()`, `moves`, and the screens. */
  constructor({ records, localId, entry, app }) {
    Object.assign(this, {
      records,
      localId,
      entry,
      app,
      model: null,
      view: null,
      problem: null,
      refusal: null,
      silence: null,
    });
    this.host = new PetHost(entry);
    this.outbox = app.outboxOf(localId, this.host);
    this.sync = new Sync(this.host, {
      onView: (view) => this.#take(view),
      onHeard: () => this.#heard(),
      onSilence: (problem) => this.#hush(problem),
      onRefusal: (problem) => this.#refuse(problem),
    });
    this.frame = makeFrame(this.#actions());
    this.clockOffsetMs = 0;
    this.checkpointAtMs = 0;
    this.effectSeen = null;
    this.seenMs = null;
    // the newest words that stood before the owner on any tab, and those that stood under Talk
    this.watchedMs = 0;
    this.readMs = null;
  }

  /** Shows the browser's own copy first, so an unreachable host still shows a pet, then follows the host. */
  async start() {
    const notes = await this.records.notes();
    const { atMs = null, watchedMs = 0 } = notes.seen[this.localId] ?? {};
    Object.assign(this, { seenMs: atMs, watchedMs });
    const [copy] = await this.records.checkpoints(this.localId);
    if (copy) {
      this.copy = copy;
      this.model = modelOf({ ...copy, status: "unknown", serverTime: copy.atMs });
    }
    this.outbox.watch(() => this.render());
    this.timer = setInterval(() => this.#tick(), TICK_MS);
    this.onHidden = () => document.hidden && this.#leave();
    this.onNetwork = () => this.render();
    document.addEventListener("visibilitychange", this.onHidden);
    window.addEventListener("online", this.onNetwork);
    window.addEventListener("offline", this.onNetwork);
    this.render();
    this.sync.start();
  }

  stop() {
    this.sync.stop();
    this.outbox.watch(() => {});
    clearInterval(this.timer);
    clearTimeout(this.problemTimer);
    document.removeEventListener("visibilitychange", this.onHidden);
    window.removeEventListener("online", this.onNetwork);
    window.removeEventListener("offline", this.onNetwork);
  }

  /** What the host said last, else the browser's copy. */
  newestSave() {
    return this.view?.save ?? this.copy?.save;
  }

  // --- snapshots ------------------------------------------------------------------------------------------------

  #take(view) {
    // the browser's own copy is no "before": what happened since then is told by the card, not spoken as if it were now
    const before = this.view && this.model;
    this.view = view;
    this.refusal = null;
    this.entry = { ...this.entry, epoch: view.epoch };
    this.clockOffsetMs = view.serverTime - Date.now();
    this.model = modelOf(view);
    this.outbox.seen(view);
    this.#playEffects();
    if (before) this.#tellChanges(before);
    this.#greet();
    this.#watch();
    this.#keepCopy();
    this.render();
  }

  #heard() {
    // an unchanged answer to a page that was hidden until now: what came meanwhile is news all the same
    if (document.hidden || !this.view) return;
    const cameBack = this.#greet();
    if (this.#watch() || cameBack) this.render();
  }

  #hush(problem) {
    if (problem && !this.silence) this.app.announce(say("link.lost"));
    this.silence = problem;
    this.render();
  }

  #refuse(problem) {
    this.refusal = problem;
    this.render();
  }

  /** Effects are played once, by id; what happened before this page looked is not played at all. */
  #playEffects() {
    const ids = this.model.effects.map((effect) => effect.id);
    const fresh = this.effectSeen === null ? [] : this.model.effects.filter((effect) => effect.id > this.effectSeen);
    this.effectSeen = Math.max(this.effectSeen ?? 0, ...ids);
    for (const effect of fresh.slice(-3)) {
      const spark = effect.kind === "act" && effect.item === "sing" ? "note" : SPARK_OF_EFFECT[effect.kind];
      if (spark) this.frame.play(spark);
    }
  }

  #tellChanges(before) {
    const { model } = this;
    const known = new Set(before.chat.map((line) => line.key));
    const fresh = model.chat.filter((line) => !line.mine && !known.has(line.key));
    for (const line of fresh.slice(-2)) this.app.announce(say("talk.said", { name: model.name, text: line.text }));
    if (before.asleep !== model.asleep)
      this.app.announce(say(model.asleep ? "said.asleep" : "said.awake", { name: model.name }));
    if (before.stage !== model.stage) this.app.announce(stageText(model));
    if (!before.game && model.game) this.app.announce(say("game.ready", { name: model.name }));
  }

  /** A returning owner is told what happened; whoever stayed has seen it. Returns whether the owner had been away. */
  #greet() {
    if (document.hidden) return false;
    const [sinceMs, nowMs] = [this.seenMs, this.#nowMs()];
    this.seenMs = nowMs;
    if (sinceMs === null || nowMs - sinceMs < AWAY_MS) return false;
    const { lines, more } = newsSince(this.model, sinceMs, this.watchedMs);
    const card = lines.length > 0 && awayCard(lines, more, () => this.#closeAway());
    if (card) this.frame.talk.showAway(card, Math.max(sinceMs, this.watchedMs));
    return true;
  }

  /** Words that stand before the owner are noted at once: a tab may be closed without a word. Returns whether there
      were new ones. */
  #watch() {
    if (document.hidden) return false;
    const newestMs = this.#newestWordsMs();
    const wasRead = this.readMs;
    if (wasRead === null || this.frame.talks()) this.readMs = newestMs;
    if (newestMs > this.watchedMs) {
      this.watchedMs = newestMs;
      this.#note();
    }
    return this.readMs !== wasRead;
  }

  #newestWordsMs() {
    return this.model.chat.findLast((line) => !line.mine)?.atMs ?? 0;
  }

  #closeAway() {
    this.frame.talk.showAway(null);
    this.render();
    this.frame.talk.focus();
  }

  #keepCopy({ now = false } = {}) {
    const { view } = this;
    if (!view?.save || view.status === "prepared") return;
    const moved = view.revision !== this.entry.checkpointRevision || view.epoch !== this.storedEpoch;
    if (!moved || (!now && Date.now() - this.checkpointAtMs < CHECKPOINT_EVERY_MS)) return;
    this.checkpointAtMs = Date.now();
    this.storedEpoch = view.epoch;
    this.entry = { ...this.entry, ...checkpointed(view) };
    this.records
      .updatePet(this.localId, checkpointed(view), checkpointOf(view))
      .catch((error) => this.app.fault(error));
  }

  #tick() {
    const nowMs = this.#nowMs();
    if (!document.hidden && this.view && nowMs - this.seenMs < AWAY_MS) this.seenMs = nowMs;
    this.#keepCopy();
    this.#note();
    this.render();
  }

  #leave() {
    this.#keepCopy({ now: true });
    this.#note();
  }

  #note() {
    if (!this.view) return;
    const seen = { atMs: this.seenMs ?? this.#nowMs(), name: this.model.name, watchedMs: this.watchedMs };
    const change = (notes) => ({ ...notes, seen: { ...notes.seen, [this.localId]: seen } });
    this.records.setNotes(change).catch((error) => this.app.fault(error));
  }

  #nowMs() {
    return Date.now() + this.clockOffsetMs;
  }

  // --- the picture ----------------------------------------------------------------------------------------------

  render() {
    if (!this.model) return this.frame.banners.show(this.#banners());
    const pending = this.outbox.items.filter((item) => item.body.command.kind === "say").map(pendingLine);
    const model = { ...this.model, host: new URL(this.entry.host).host };
    const unread = this.readMs !== null && this.#newestWordsMs() > this.readMs;
    this.frame.update({ model, link: this.#link(), pending, pets: this.app.pets(), nowMs: this.#nowMs(), unread });
    this.frame.banners.show(this.#banners());
  }

  #link() {
    if (!navigator.onLine && this.silence) return "offline";
    if (this.silence) return "lost";
    return LINK_OF_STATUS[this.view?.status] ?? (this.view ? "live" : "asking");
  }

  #banners() {
    const banners = [];
    if (this.refusal) banners.push(this.#refusalBanner());
    else if (this.silence) banners.push(this.#silenceBanner());
    const move = this.app.moveOf(this.localId);
    if (move) banners.push({ key: "move", ...move });
    if (this.outbox.items.some((item) => item.state === "stuck")) {
      const retry = { label: say("talk.stuck.retry"), run: () => this.outbox.retry() };
      banners.push({ key: "stuck", text: say("unconfirmed.text"), actions: [retry] });
    }
    const status = this.#statusBanner();
    if (status && !move) banners.push(status);
    const close = { label: say("problem.close"), run: () => this.#closeProblem() };
    if (this.problem) banners.push({ key: "problem", text: this.problem, actions: [close] });
    return banners;
  }

  #silenceBanner() {
    const retry = { label: say("silent.retry"), run: () => this.sync.now() };
    const name = this.model?.name;
    const time = this.model && clockTime(this.model.serverTime, this.model.zone);
    const key = !this.model ? "silent.host.never" : navigator.onLine ? "silent.host" : "silent.offline";
    return { key: "silence", text: say(key, { name, time }), actions: [retry] };
  }

  #refusalBanner() {
    const copy = this.newestSave();
    const keep = { label: say("gone.export"), run: () => download(copy) };
    const restore = { label: say("gone.restore"), run: () => this.app.adoptSave(copy) };
    const forget = { label: say("gone.forget"), run: () => this.app.forget(this.localId) };
    const known = this.refusal.status === 404 || this.refusal.status === 410;
    if (!known)
      return {
        key: "refusal",
        text: problemText(this.refusal),
        actions: [{ label: say("silent.retry"), run: () => this.sync.now() }],
      };
    const text = say(this.refusal.status === 410 ? "gone.deleted" : "gone.text");
    return { key: "gone", text, actions: copy ? [restore, keep, forget] : [forget] };
  }

  #statusBanner() {
    const name = this.model?.name;
    const status = this.view?.status;
    const resume = { label: say("settings.resume"), run: () => this.app.resume(this.localId, this.entry.epoch) };
    if (status === "parked")
      return { key: "parked", calm: true, text: say("parked.text", { name }), actions: [resume] };
    if (status === "quarantined")
      return {
        key: "quarantined",
        text: say("quarantined.text", { name, error: firstLine(this.view.error) }),
        actions: [],
      };
    return null;
  }

  #showProblem(problem) {
    this.tell(problem instanceof OutboxFull ? say("problem.outbox_full") : problemText(problem));
    if (problem.code === "stale_epoch" || problem.code === "not_active") this.sync.now();
  }

  /** Shows a sentence above the room for a while, and says it once. */
  tell(text) {
    this.problem = text;
    this.app.announce(text);
    clearTimeout(this.problemTimer);
    this.problemTimer = setTimeout(() => this.#closeProblem(), PROBLEM_SHOWN_MS);
    this.render();
  }

  #closeProblem() {
    clearTimeout(this.problemTimer);
    if (this.problem === null) return;
    this.problem = null;
    this.render();
  }

  // --- what the owner does ----------------------------------------------------------------------------------------

  /** Sends a command; tells `done` when it is committed, or the problem. Returns whether it was taken. */
  #send(command, done, refused = () => {}) {
    let promise;
    try {
      promise = this.outbox.send(command, this.entry.epoch);
    } catch (problem) {
      this.#showProblem(problem);
      return false;
    }
    promise.then(
      () => done && this.app.announce(done),
      (problem) => {
        refused();
        this.#showProblem(problem);
      },
    );
    return true;
  }

  /** Whatever the owner does next closes the problem of what was done before. */
  #actions() {
    const acts = Object.entries(this.#wishes()).map(([name, act]) => {
      return [name, (...rest) => (this.#closeProblem(), act(...rest))];
    });
    return { ...Object.fromEntries(acts), read: () => this.#read() };
  }

  #read() {
    if (!this.view) return;
    this.#watch();
    this.render();
  }

  #wishes() {
    return {
      care: (action) => this.#care(action),
      say: (text) => this.#send({ kind: "say", text }, null, () => this.frame.talk.giveBack(text)),
      offer: (offer) => this.#offer(offer),
      play: () => this.#play(),
      rename: (name) => this.#send({ kind: "settings", name }, say("settings.saved")),
      chatter: (chatter) => this.#send({ kind: "settings", chatter }, say("settings.saved")),
      exportSave: () => this.#export(),
      importSave: (file) => this.app.importSave(file),
      park: () => this.app.park(this.localId, this.entry.epoch),
      resume: () => this.app.resume(this.localId, this.entry.epoch),
      remove: () => this.app.remove(this.localId, this.entry.epoch, this.model.name, () => this.#export()),
      show: (localId) => this.app.show(localId),
      adopt: () => this.app.meet(),
    };
  }

  #export() {
    download(this.newestSave());
    this.app.announce(say("settings.exported"));
  }

  async #care(action) {
    const { name, lamp } = this.model;
    if (action === "lamp") return this.#send({ kind: "care", action }, say(`care.done.lamp.${lamp ? "off" : "on"}`));
    if (action !== "feed") return this.#send({ kind: "care", action }, say(`care.done.${action}`, { name }));
    const item = await pick(say("care.feed.choose"), choicesOf(FOODS));
    if (item) this.#send({ kind: "care", action, item }, say("care.done.feed", { name, item: nameOf("item", item) }));
  }

  async #offer(offer) {
    const items = ITEMS[offer];
    const item = items ? await pick(say("offer.choose"), choicesOf(items)) : null;
    if (items && !item) return;
    const shown = nameOf("item", item ?? offer);
    this.#send(
      { kind: "offer", offer, ...(item ? { item } : {}) },
      say("offer.made", { name: this.model.name, item: shown }),
    );
  }

  async #play() {
    const game = this.model.game;
    if (!game || this.playing) return;
    this.playing = true;
    const score = await playCatch(this.app.announce, this.model.hue);
    this.playing = false;
    if (score === null) return;
    const over = say("game.over", { score, rounds: ROUNDS });
    this.#send({ kind: "game", gameId: game.id, score }, over);
  }
}

function stageText({ stage, name }) {
  return stage === "hatchling"
    ? say("event.hatched", { name })
    : say("event.grew", { name, item: nameOf("stage", stage) });
}

/** The kind of fault; the frames below it are for the host's operator. */
function firstLine(error) {
  return String(error ?? "?").split("\n")[0];
}

function choicesOf(items) {
  return items.map((item) => ({ item, label: nameOf("item", item) }));
}

function pendingLine(item) {
  const key = { waiting: item.repeated ? "talk.repeating" : "talk.sending", stuck: "talk.stuck", done: "talk.sending" }[
    item.state
  ];
  return { id: item.body.operationId, text: item.body.command.text, note: say(key) };
}
