/* One pet on the screen: its snapshots come in, the owner's wishes go out, and both meet in one picture. */

import type { Command, Home, HomeSnapshot, HouseholdSnapshot } from "../contract.ts";
import { alertsOf, alertsPermission, askForAlerts, showAlert, wantedAlerts } from "./alerts.ts";
import { Arrivals, type Where } from "./arrivals.ts";
import { freshEffects, playOf, type Play } from "./effects.ts";
import { newsSince } from "./events.ts";
import { followByFrame } from "./frames.ts";
import { speaksOfHarm } from "./help.ts";
import { startIdle } from "./idle.ts";
import { hatchedMs, noteHatched, notePlayed, playedId } from "./kept.ts";
import { Keeping } from "./keeping.ts";
import { percentOf } from "./loading.ts";
import { modelOf, type ChatLine, type DiaryPage, type Model } from "./model.ts";
import type { RoomParts } from "./parts.ts";
import { cameOf, type Came } from "./namesakes.ts";
import { nameOf, problemText, say } from "./strings.ts";
import { mark } from "../site/marks.ts";
import { dayAndTime } from "./times.ts";
import { keptSamples, noteBody } from "./week.ts";
import { bannersOf } from "./notices.ts";
import type { Banner } from "./views/banners.ts";
import { playCatch } from "./views/catch.ts";
import { makeDiary } from "./views/diary.ts";
import { makeFrame, stateLine, type Tab } from "./views/frame.ts";
import { makeHome } from "./views/home.ts";
import { hostName, makeHouse, type HouseActions } from "./views/house.ts";
import { makeLife } from "./views/life.ts";
import { openMind } from "./views/mind.ts";
import { letLiveOn, moveHere, moveToHost, recover } from "./views/moving.ts";
import { chooseFood, chooseOffer, offerName } from "./views/offers.ts";
import { awayCard, makeTalk } from "./views/talk.ts";

/** Away for less is not away. */
const AWAY_MS = 5 * 60_000;
/** The engine's own measure of a return (`RETURN_GAP_MINUTES`). */
const RETURN_MS = 5 * 60 * 60_000;
const TICK_MS = 20_000;
const PROBLEM_SHOWN_MS = 12_000;
const GAME_OVER_MARGIN_MS = 1500;

/** What goes beyond one pet. */
export interface Screens {
  show(localId: string): void;
  meet(): void;
  importFile(file: File): void;
  joinCard(): void;
}

export class Companion {
  readonly #home: Home;
  readonly #keeping: Keeping;
  readonly #frame;
  readonly #view;
  readonly #talk;
  readonly #diary;
  readonly #life;
  readonly #house;
  #snapshot: HomeSnapshot;
  #model: Model | null = null;
  readonly #arrivals = new Arrivals();
  #ways: (() => void)[] = [];
  #clockOffsetMs = 0;
  #problem: string | null = null;
  #problemTimer = 0;
  #helped = false;
  #seenMs: number | null = null;
  /** The newest words that stood before the owner on any tab, and those that stood under Talk. */
  #watchedMs = 0;
  #readMs: number | null = null;
  #cameHome = false;
  #came: Record<string, Came> = {};
  #greeted = false;
  #stopped = false;

  constructor(
    private readonly parts: RoomParts,
    private readonly localId: string,
    private readonly screens: Screens,
  ) {
    this.#home = parts.household.home(localId);
    this.#snapshot = this.#home.snapshot();
    this.#keeping = new Keeping(parts, this.#home, localId, () => this.#model, (text) => this.tell(text));
    this.#view = makeHome({
      care: (action) => void this.#care(action),
      offer: () => void this.#offer(),
      stroke: () => this.#send({ kind: "care", action: "stroke" }),
      listen: () => this.listen(),
      openLife: () => this.#frame.select("life"),
    });
    this.#talk = makeTalk({
      say: (text) => this.#say(text),
      mind: (line) => void this.#mind(line),
      retry: () => this.#home.retry(),
      again: (id) => this.#tellIfNot(this.#home.again(id)),
      letGo: (id) => this.#tellIfNot(this.#home.letGo(id)),
      hideHelp: () => this.#hideHelp(),
    });
    this.#diary = makeDiary({ mind: (page) => void this.#mind(page), announce: parts.announce });
    this.#life = makeLife();
    this.#house = makeHouse(this.#houseActions());
    const panels = { talk: this.#talk.element, diary: this.#diary.element, life: this.#life.element, house: this.#house.element };
    this.#frame = makeFrame(this.#view.element, panels, {
      selected: (tab) => this.#selected(tab),
      sound: () => this.#flip("sound"),
      quiet: () => this.#flip("quiet"),
      announce: parts.announce,
    });
  }

  get element(): HTMLElement {
    return this.#frame.element;
  }

  /** Takes the focus that was on what is no longer there; leaves it where it is on anything else. */
  focus(): void {
    if (document.activeElement === null || document.activeElement === document.body) this.#frame.focus();
  }

  async start(): Promise<void> {
    const { household, preferences, loading } = this.parts;
    const notes = await household.notes();
    if (this.#stopped) return; // its owner went on to another pet meanwhile
    const { seen } = notes;
    this.#came = cameOf(notes);
    const mine = seen[this.localId];
    this.#seenMs = mine?.atMs ?? null;
    this.#watchedMs = mine?.watchedMs ?? 0;
    const render = () => this.#render();
    const timer = setInterval(() => this.#tick(), TICK_MS);
    const hidden = () => (document.hidden ? this.#note() : this.#heard());
    document.addEventListener("visibilitychange", hidden);
    this.#ways.push(
      followByFrame(this.#home, (snapshot) => this.#take(snapshot)),
      household.subscribe(render),
      preferences.subscribe(render),
      loading.subscribe(render),
      this.parts.offline.subscribe(render),
      () => clearInterval(timer),
      () => clearTimeout(this.#problemTimer),
      () => document.removeEventListener("visibilitychange", hidden),
      startIdle(this.#view.room, { restless: () => this.#restless(), calm: () => document.documentElement.dataset.motion === "calm" }),
    );
  }

  stop(): void {
    this.#stopped = true;
    this.#note();
    for (const way of this.#ways.splice(0)) way();
  }

  /** Leads to the conversation, ready to write. */
  listen(): void {
    this.#frame.select("talk");
    this.#talk.focus();
  }

  /** Shows a sentence for a while, and says it once. */
  tell(text: string): void {
    this.#problem = text;
    this.parts.announce(text);
    clearTimeout(this.#problemTimer);
    this.#problemTimer = window.setTimeout(() => this.#closeProblem(), PROBLEM_SHOWN_MS);
    this.#render();
  }

  #restless(): boolean {
    const model = this.#model;
    return (
      model !== null && model.present && !model.asleep && !model.thinking && model.stage !== "egg" && !this.parts.preferences.now.quiet
    );
  }

  // --- snapshots ---------------------------------------------------------------------------------------------------

  #take(snapshot: HomeSnapshot): void {
    const before = this.#model;
    const linkBefore = this.#snapshot.link;
    const arrived = this.#arrivals.of(snapshot);
    this.#snapshot = snapshot;
    this.#model = modelOf(snapshot);
    if (this.#model) this.#took(this.#model, before, linkBefore);
    this.#render();
    if (arrived && this.#model) this.#arrive(this.#model, arrived);
    if (this.#model !== null && snapshot.link === "running") mark("living");
  }

  #took(model: Model, before: Model | null, linkBefore: string): void {
    const old = model.copyAtMs !== null;
    this.#clockOffsetMs = old ? 0 : this.#offsetOf(model);
    if (!old) this.#playEffects(model);
    const hatched = model.events.find(({ kind }) => kind === "hatched");
    if (hatched) noteHatched(this.localId, hatched.atMs);
    // a first look and the missed time that is lived late are told by the card, not spoken as if they were now
    const live = before !== null && before.copyAtMs === null && linkBefore !== "catching_up" && linkBefore !== "starting";
    if (live && model.link !== "catching_up") this.#tellChanges(before, model);
    if (!old && model.link !== "catching_up" && model.link !== "starting") {
      noteBody(this.localId, this.#nowMs(), model.meters);
      this.#heard();
    }
  }

  #arrive({ name, host }: Model, where: Where): void {
    this.#view.room.arrive();
    this.#celebrate(say(`move.done.${where}`, { name, host: hostName(host) }));
  }

  /** The host's clock, when it is off by more than a look: the pet lives by that one. */
  #offsetOf(model: Model): number {
    return model.kind === "remote" ? model.serverTime - Date.now() : 0;
  }

  #heard(): void {
    if (document.hidden || !this.#model) return;
    this.#comeHome(this.#model);
    const cameBack = this.#greet(this.#model);
    if (this.#watch(this.#model) || cameBack) this.#render();
  }

  /** Effects are played once, by id; what happened before this page looked is not played at all. */
  #playEffects(model: Model): void {
    const seen = playedId(this.localId);
    const { fresh, seenId } = freshEffects(model.effects, seen, model.nextEffect);
    if (seenId !== seen) notePlayed(this.localId, seenId);
    if (model.link === "catching_up") return;
    let afterMs = 0;
    for (const effect of fresh) {
      const play = playOf(effect);
      if (!play) continue;
      this.#later(afterMs, () => this.#playOne(effect.kind, play));
      afterMs += play.aloneMs ?? 0;
    }
  }

  #playOne(kind: string, { movement, item, sparks, sparksAfterMs = 0, sound }: Play): void {
    const name = this.#model?.name ?? "";
    if (movement) this.#view.room.act(movement, item);
    if (sparks) this.#later(sparksAfterMs, () => this.#view.room.sparks(sparks));
    if (sound) this.#later(sparksAfterMs, () => this.parts.sounds.play(sound));
    if (kind !== "hatch") return;
    this.#frame.select("talk"); // a moment that comes once is not missed behind a tab
    this.#later(sparksAfterMs, () => this.#celebrate(say("event.hatched", { name })));
  }

  /** Said in the room itself, large, for a moment; the live region says it, too. */
  #celebrate(text: string): void {
    this.#view.celebrate(text);
    this.parts.announce(text);
  }

  /** At once where there is nothing to wait for. Ends with the companion. */
  #later(afterMs: number, act: () => void): void {
    if (afterMs === 0) return act();
    const timer = setTimeout(act, afterMs);
    this.#ways.push(() => clearTimeout(timer));
  }

  #tellChanges(before: Model, model: Model): void {
    const { announce, preferences } = this.parts;
    const known = new Set(before.chat.map((line) => line.key));
    const fresh = model.chat.filter((line) => !line.mine && !known.has(line.key));
    for (const line of fresh.slice(-2)) announce(say("talk.said", { name: model.name, text: line.text }));
    if (before.asleep !== model.asleep && model.stage !== "egg")
      announce(say(model.asleep ? "said.asleep" : "said.awake", { name: model.name }));
    if (before.stage !== model.stage && before.stage !== "egg") announce(stateLine(model));
    if (!before.game && model.game) announce(say("game.ready", { name: model.name }));
    const facts = { hidden: document.hidden, nowMs: this.#nowMs(), permission: alertsPermission() };
    for (const alert of wantedAlerts(alertsOf(before, model), preferences.now, model.zone, facts)) showAlert(model.name, alert);
  }

  /** Whoever comes back after hours is here, though nothing was done yet: told to the pet as a setting that stays what it
      is, so that it speaks first (docs/engine.md). Once a return; where it cannot be sent, the first act will do. */
  #comeHome({ present, asleep, stage, ownerMs, chatter }: Model): void {
    const away = this.#nowMs() - ownerMs >= RETURN_MS;
    if (!away) this.#cameHome = false;
    if (this.#cameHome || !away || !present || asleep || stage === "egg") return;
    this.#cameHome = true;
    this.#home.send({ kind: "settings", chatter }).catch(() => (this.#cameHome = false));
  }

  /** A returning owner is told what happened; whoever stayed has seen it. Returns whether the owner had been away. */
  #greet(model: Model): boolean {
    const [sinceMs, nowMs] = [this.#seenMs, this.#nowMs()];
    this.#seenMs = nowMs;
    if (sinceMs === null || (nowMs - sinceMs < AWAY_MS && this.#greeted)) return false;
    this.#greeted = true;
    if (nowMs - sinceMs < AWAY_MS) return false;
    const { lines, more } = newsSince(model, sinceMs, this.#watchedMs);
    if (lines.length > 0)
      this.#talk.showAway(
        awayCard({ lines, more, since: dayAndTime(sinceMs, model.zone) }, () => this.#closeAway()),
        Math.max(sinceMs, this.#watchedMs),
      );
    return true;
  }

  #closeAway(): void {
    this.#talk.closeAway();
    this.#render();
    this.#talk.focus();
  }

  /** Words that stand before the owner are noted at once: a tab may be closed without a word. */
  #watch(model: Model): boolean {
    const newestMs = newestWordsMs(model);
    const wasRead = this.#readMs;
    if (wasRead === null || this.#frame.tab() === "talk") this.#readMs = newestMs;
    if (newestMs > this.#watchedMs) {
      this.#watchedMs = newestMs;
      this.#note();
    }
    return this.#readMs !== wasRead;
  }

  #tick(): void {
    const nowMs = this.#nowMs();
    if (!document.hidden && this.#seenMs !== null && nowMs - this.#seenMs < AWAY_MS) this.#seenMs = nowMs;
    this.#note();
    this.#render();
  }

  #note(): void {
    if (!this.#model || this.#seenMs === null) return;
    const seen = { atMs: this.#seenMs, name: this.#model.name, watchedMs: this.#watchedMs };
    // a note that is not kept costs a greeting, nothing of the pet
    this.parts.household.setNotes((notes) => ({ ...notes, seen: { ...notes.seen, [this.localId]: seen } })).catch(() => undefined);
  }

  #nowMs(): number {
    return Date.now() + this.#clockOffsetMs;
  }

  // --- the picture -------------------------------------------------------------------------------------------------

  #render(): void {
    const model = this.#model;
    const { preferences, household, offline } = this.parts;
    this.#frame.banners.show(this.#banners(household.snapshot()));
    if (!model) return;
    const nowMs = this.#nowMs();
    const unread = this.#readMs !== null && newestWordsMs(model) > this.#readMs;
    const { sound, quiet } = preferences.now;
    this.#view.update(model, nowMs, { unread, quiet });
    this.#talk.update(model, { help: this.#helped && !preferences.now.helpHidden });
    this.#diary.update(model, hatchedMs(this.localId));
    this.#life.update(model, keptSamples(this.localId), nowMs);
    this.#house.update({
      model,
      localId: this.localId,
      preferences: preferences.now,
      household: household.snapshot(),
      alertsPermission: alertsPermission(),
      offline: offline.state(),
      nowMs,
      came: this.#came,
    });
    this.#frame.update(model, { sound, quiet, loading: this.#loadingText(model), catchUp: this.#catchUpPercent() });
    this.#frame.mark("talk", unread);
  }

  #loadingText(model: Model): string | null {
    const { engine, brain } = this.parts.loading.now;
    if (model.kind !== "local" || model.link === "other_tab") return null;
    if (!engine.ready && engine.total > 0 && !engine.failed) return say("load.short.engine", { percent: percentOf(engine) });
    return !brain.ready && brain.total > 0 && !brain.failed ? say("load.short.brain", { percent: percentOf(brain) }) : null;
  }

  #catchUpPercent(): number | null {
    const { catchUp } = this.#snapshot;
    if (!catchUp || catchUp.toMs <= catchUp.fromMs) return null;
    return Math.max(0, Math.min(99, Math.floor(((catchUp.nowMs - catchUp.fromMs) / (catchUp.toMs - catchUp.fromMs)) * 100)));
  }

  #banners(household: HouseholdSnapshot): Banner[] {
    return bannersOf({
      snapshot: this.#snapshot,
      model: this.#model,
      household,
      localId: this.localId,
      problem: this.#problem,
      loading: this.parts.loading.now,
      moving: () => this.#keeping.movingParts(),
      tell: (problem) => this.#tellProblem(problem),
      closeProblem: () => this.#closeProblem(),
      play: () => void this.#play(),
      forget: () => void this.#keeping.forget(),
      alertsOffer: this.#alertsOffer(),
      update: this.parts.offline.state() === "update_ready" ? () => this.parts.offline.update() : null,
    });
  }

  /** Asked once, and only when there is something to be told about: after the pet has spoken by itself. */
  #alertsOffer(): { accept: () => void; decline: () => void } | null {
    const { preferences } = this.parts;
    const model = this.#model;
    if (!model || this.#talk.tells() || preferences.now.alertsOffered || preferences.now.alerts || preferences.now.quiet) return null;
    if (alertsPermission() !== "default" || model.chat.filter((line) => !line.mine).length < 6) return null;
    return { accept: () => void this.#alerts(true), decline: () => preferences.set({ alertsOffered: true }) };
  }

  #tellProblem(problem: unknown): void {
    this.tell(problemText(problem));
  }

  #closeProblem(): void {
    clearTimeout(this.#problemTimer);
    if (this.#problem === null) return;
    this.#problem = null;
    this.#render();
  }

  // --- what the owner does -----------------------------------------------------------------------------------------

  /** Sends a command; tells `done` when it is committed, or the problem. */
  #send(command: Command, done?: string, refused?: () => void): void {
    this.#closeProblem();
    this.#home.send(command).then(
      () => done && this.parts.announce(done),
      (problem: unknown) => {
        // words that the household keeps for their owner stand there already
        if ((problem as { code?: unknown }).code !== "returned") refused?.();
        this.#tellProblem(problem);
      },
    );
  }

  #tellIfNot(work: Promise<void>): void {
    work.catch((problem: unknown) => this.#tellProblem(problem));
  }

  #say(text: string): boolean {
    if (speaksOfHarm(text)) this.#helped = true;
    this.parts.sounds.play("pop");
    this.#send({ kind: "say", text }, undefined, () => this.#talk.giveBack(text));
    if (this.#helped) {
      this.#render();
      this.parts.announce(say("help.text"));
    }
    return true;
  }

  #hideHelp(): void {
    this.#helped = false;
    this.#render();
    this.#talk.focus();
  }

  async #care(action: string): Promise<void> {
    const model = this.#model;
    if (!model) return;
    const { name, lamp } = model;
    if (action === "lamp") return this.#send({ kind: "care", action }, say(`care.done.lamp.${lamp ? "off" : "on"}`));
    if (action !== "feed") return this.#send({ kind: "care", action }, say(`care.done.${action}`, { name }));
    const item = await chooseFood();
    if (item) this.#send({ kind: "care", action, item }, say("care.done.feed", { name, item: nameOf("item", item) }));
  }

  async #offer(): Promise<void> {
    const model = this.#model;
    if (!model) return;
    if (model.game) return this.#play();
    if (model.offer)
      return this.parts.announce(
        say(model.asleep ? "offer.open.asleep" : "offer.open", { name: model.name, item: offerName(model.offer) }),
      );
    const chosen = await chooseOffer(model.name);
    if (!chosen) return;
    const { offer, item } = chosen;
    const made = say("offer.made", { name: model.name, item: nameOf("item", item ?? offer) });
    this.#send(item ? { kind: "offer", offer, item } : { kind: "offer", offer }, made);
  }

  async #play(): Promise<void> {
    const model = this.#model;
    if (!model?.game) return;
    const { id, expiresMs } = model.game;
    const score = await playCatch({
      hue: model.hue,
      calm: document.documentElement.dataset.motion === "calm",
      expiresMs: expiresMs - GAME_OVER_MARGIN_MS,
      now: () => this.#nowMs(),
      announce: this.parts.announce,
      sound: (name) => this.parts.sounds.play(name),
    });
    if (score !== null) this.#send({ kind: "game", gameId: id, score }, say("game.over", { score, name: model.name }));
  }

  #selected(tab: Tab): void {
    if (tab === "talk") this.#heard();
  }

  async #mind(words: ChatLine | DiaryPage): Promise<void> {
    const model = this.#model;
    if (!model) return;
    await openMind(model.name, words.text, {
      turn: async () => (await this.#home.turns()).find((turn) => turn.turnId === words.turn && words.turn !== "") ?? null,
      brain: this.parts.brain,
      announce: this.parts.announce,
    });
  }

  #flip(name: "sound" | "quiet"): void {
    const { preferences, announce, sounds } = this.parts;
    const on = !preferences.now[name];
    preferences.set({ [name]: on });
    announce(say(`top.${name}.${on ? "on" : "off"}`));
    if (name === "sound" && on) sounds.play("chirp");
  }

  async #alerts(on: boolean): Promise<void> {
    const { preferences, announce } = this.parts;
    if (!on) return preferences.set({ alerts: false });
    const granted = await askForAlerts();
    preferences.set({ alerts: granted, alertsOffered: true });
    announce(say(granted ? "alerts.on" : "alerts.refused"));
  }

  #houseActions(): HouseActions {
    const { preferences } = this.parts;
    const guarded = (work: () => Promise<unknown>) => () => void work().catch((problem: unknown) => this.#tellProblem(problem));
    return {
      rename: (name) => this.#send({ kind: "settings", name }, say("house.saved")),
      chatter: (chatter) => this.#send({ kind: "settings", chatter }, say("house.saved")),
      motion: (motion) => preferences.set({ motion }),
      sound: () => this.#flip("sound"),
      quiet: () => this.#flip("quiet"),
      alerts: (on) => void this.#alerts(on),
      alertAbout: (kind, on) => preferences.set({ alertsAbout: { ...preferences.now.alertsAbout, [kind]: on } }),
      alertsByNight: (alertsByNight) => preferences.set({ alertsByNight }),
      moveToHost: guarded(() => moveToHost(this.#keeping.movingParts())),
      moveHere: guarded(() => moveHere(this.#keeping.movingParts())),
      resume: guarded(() => letLiveOn(this.#keeping.movingParts())),
      recover: guarded(() => recover(this.#keeping.movingParts())),
      showCard: guarded(() => this.#keeping.showCard()),
      changeKey: guarded(() => this.#keeping.changeKey()),
      exportSave: guarded(() => this.#keeping.export()),
      importFile: (file) => this.screens.importFile(file),
      remove: guarded(() => this.#keeping.remove()),
      forget: guarded(() => this.#keeping.forget()),
      show: (localId) => this.screens.show(localId),
      adopt: () => this.screens.meet(),
      joinCard: () => this.screens.joinCard(),
      persist: guarded(() => this.#keeping.persist()),
    };
  }
}

function newestWordsMs(model: Model): number {
  return model.chat.findLast((line) => !line.mine)?.atMs ?? 0;
}
