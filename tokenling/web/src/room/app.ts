/* Which screen is shown: an egg to meet, a pet to be with, another tab that has it. */

import type { HouseholdSnapshot } from "../contract.ts";
import { Companion, type Screens } from "./companion.ts";
import { html, put } from "./dom.ts";
import { hueOfSeed } from "./model.ts";
import { withCame, type Arrival } from "./namesakes.ts";
import type { RoomParts } from "./parts.ts";
import { problemText, say } from "./strings.ts";
import { refuse } from "./refused.ts";
import { takeCard } from "./views/cards.ts";
import { hostName } from "./views/house.ts";
import { closeSheets } from "./views/sheet.ts";
import { makeMeet, type MeetView } from "./views/meet.ts";

/** The largest save that an engine takes. */
const FILE_BYTES_MAX = 1_048_576;

export class App {
  #companion: Companion | null = null;
  #meet: MeetView | null = null;
  #current: string | null = null;
  #end: (() => void) | null = null;
  #tabScreen: HTMLElement | null = null;
  /** Where the focus was when the other tab took over. */
  #before: Element | null = null;
  #gaveUp = false;

  constructor(
    private readonly page: HTMLElement,
    private readonly parts: RoomParts,
  ) {}

  async start(): Promise<void> {
    const { household } = this.parts;
    const { current } = await household.notes();
    const shown = shownPets(household.snapshot());
    const [first, ...others] = [...shown].sort((a, b) => Number(b === current) - Number(a === current));
    if (first === undefined) await this.meet();
    else await this.#showOneOf(first, others);
    household.subscribe((snapshot) => this.#follow(snapshot));
  }

  /** A pet that cannot be shown must not stand before the others: its fault is reported, and the next one is shown. */
  async #showOneOf(first: string, [next, ...others]: string[]): Promise<void> {
    try {
      await this.show(first);
    } catch (fault) {
      if (next === undefined) throw fault;
      reportError(fault);
      await this.#showOneOf(next, others);
    }
  }

  /** A pet that has gone leaves the screen to another; another tab that runs the pets is said. */
  #follow(snapshot: HouseholdSnapshot): void {
    if (snapshot.outdated !== null) return this.#giveUp(snapshot.outdated, snapshot);
    this.#showTab(snapshot.tab !== "leader" && this.#current !== null, snapshot.tab === "taking");
    if (this.#current === null || shownPets(snapshot).includes(this.#current)) return;
    const [next] = shownPets(snapshot);
    void (next ? this.show(next) : this.meet());
  }

  /** Nothing can be stored any more: shown instead of a pet whose life would be lost. */
  #giveUp(why: string, snapshot: HouseholdSnapshot): void {
    if (this.#gaveUp) return;
    this.#gaveUp = true;
    this.#leave();
    // what is no longer on the disk is still in this page's memory
    const lost = why === "deleted" ? snapshot.pets.filter((pet) => !pet.leaving) : [];
    const ways = lost.map(({ localId, name }) => ({
      label: say("outdated.keep", { name: name || say("pets.unnamed") }),
      run: () => void this.#keepCopy(localId),
    }));
    refuse(this.page, `outdated.${why}`, {}, ways);
    this.page.querySelector("button")?.focus();
  }

  async #keepCopy(localId: string): Promise<void> {
    const { fileName, text } = await this.parts.household.exportSave(localId);
    this.parts.download(fileName, text);
    this.parts.announce(say("house.exported"));
  }

  async show(localId: string): Promise<void> {
    this.#leave();
    this.#current = localId;
    const screens: Screens = {
      show: (other) => void this.show(other),
      meet: () => void this.meet(),
      importFile: (file) => void this.#importFile(file),
      joinCard: () => void this.#joinCard(),
    };
    const companion = new Companion(this.parts, localId, screens);
    const first = this.page.childElementCount === 0;
    this.#companion = companion;
    put(this.page, companion.element);
    await companion.start();
    if (!first) companion.focus();
    if (this.#companion !== companion) return; // another has been chosen while the notes were read
    await this.parts.household.setNotes((notes) => ({ ...notes, current: localId })).catch(() => undefined);
  }

  async meet(): Promise<void> {
    const { household, loading, site } = this.parts;
    // one seed for a whole meeting: a second try meets the same egg
    const petSeed = seedOf(crypto.getRandomValues(new Uint8Array(16)));
    const hue = await hueOfSeed(petSeed);
    const [other] = shownPets(household.snapshot());
    this.#leave();
    const meet = makeMeet(
      {
        adopt: (name) => void this.#adopt(meet, name, petSeed),
        importFile: (file) => void this.#importFile(file),
        joinCard: () => void this.#joinCard(),
        back: other ? () => void this.show(other) : null,
        livesOn: site.hostBrain && site.defaultHost ? hostName(site.defaultHost) : null,
      },
      { hue },
    );
    this.#meet = meet;
    meet.ask();
    put(this.page, meet.element);
    document.title = say("title");
    this.#end = loading.subscribe((load) => meet.update(load));
    meet.focus();
  }

  async #adopt(meet: MeetView, name: string, petSeed: string): Promise<void> {
    const { household, announce } = this.parts;
    meet.waiting(name);
    meet.room.act("hatch");
    try {
      const localId = await household.adopt({ name, petSeed, timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone });
      await this.#came(localId, "egg");
      await this.show(localId);
      // the name field is gone, and the focus with it; a keyboard on the screen would cover the egg that is to be seen
      if (!matchMedia("(pointer: coarse)").matches) this.#companion?.listen();
      announce(say("meet.done", { name }));
      // a wish, not a need: the browser may refuse, and the house tells which it was
      await household.persist().catch(() => false);
    } catch (problem) {
      meet.ask(problemText(problem));
    }
  }

  async #importFile(file: File): Promise<void> {
    try {
      if (file.size > FILE_BYTES_MAX) throw { code: "file_size" };
      const localId = await this.parts.household.importSave(await file.text());
      await this.#came(localId, "file");
      await this.show(localId);
      this.parts.announce(say("import.done"));
    } catch (problem) {
      this.#tell(importProblem(problem));
    }
  }

  async #joinCard(): Promise<void> {
    const { household } = this.parts;
    const localId = await takeCard({ read: (text) => household.readCard(text), join: (text) => household.joinCard(text) });
    if (!localId) return;
    await this.#came(localId, "card");
    await this.show(localId);
  }

  /** Noted so that pets that look alike can be told apart. Where nothing can be noted, they cannot. */
  async #came(localId: string, how: Arrival): Promise<void> {
    const { household } = this.parts;
    const known = household.snapshot().pets.map((pet) => pet.localId);
    await household.setNotes((notes) => withCame(notes, localId, { how, atMs: Date.now() }, known)).catch(() => undefined);
  }

  #tell(text: string): void {
    if (this.#companion) this.#companion.tell(text);
    else this.#meet?.ask(text);
  }

  #leave(): void {
    if (this.#companion || this.#meet) closeSheets();
    this.#companion?.stop();
    this.#companion = null;
    this.#end?.();
    this.#end = null;
    this.#meet = null;
    this.#current = null;
  }

  /** Over everything, while another tab of this browser runs the pets. */
  #showTab(waiting: boolean, taking: boolean): void {
    if (!waiting) {
      if (!this.#tabScreen) return;
      this.#tabScreen.remove();
      this.#tabScreen = null;
      for (const element of this.page.children) element.removeAttribute("inert");
      if (this.#before instanceof HTMLElement) this.#before.focus({ preventScroll: true });
      this.#companion?.focus();
      return;
    }
    if (!this.#tabScreen) {
      closeSheets(); // nothing of them can be done here now
      this.#before = document.activeElement;
    }
    for (const element of this.page.children) if (element !== this.#tabScreen) element.setAttribute("inert", "");
    if (this.#tabScreen) {
      const button = this.#tabScreen.querySelector("button");
      if (button) button.disabled = taking;
      return;
    }
    const take = html("button", { type: "button", class: "main", disabled: taking, onclick: () => void this.#takeTab() }, say("tab.take"));
    this.#tabScreen = html(
      "section",
      { class: "other-tab", role: "region", "aria-labelledby": "other-tab" },
      html(
        "div",
        { class: "card" },
        html("h2", { id: "other-tab" }, say("tab.heading")),
        html("p", {}, say("tab.text")),
        html("div", { class: "row" }, take),
      ),
    );
    this.page.append(this.#tabScreen);
    this.parts.announce(say("tab.heading"));
    take.focus({ preventScroll: true });
  }

  async #takeTab(): Promise<void> {
    try {
      await this.parts.household.takeTab();
    } catch (problem) {
      this.#tell(problemText(problem));
    }
  }
}

function shownPets({ pets }: HouseholdSnapshot): string[] {
  return pets.filter((pet) => !pet.leaving).map((pet) => pet.localId);
}

function seedOf(bytes: Uint8Array): string {
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Which part of a file was wrong, when the engine names it. */
function importProblem(problem: unknown): string {
  const { code = "other", fields = {} } = problem as { code?: string; fields?: { path?: unknown } };
  const path = typeof fields.path === "string" && fields.path !== "" ? fields.path : null;
  const why = say(`import.why.${code}`, {}, say("import.why.other", { code }));
  return path ? say("import.bad.at", { why, path }) : say("import.bad", { why });
}
