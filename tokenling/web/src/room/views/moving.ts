/* Moving house, bringing home, going on from the copy, saying goodbye: what it means is said before it is done, and a step
   that was lost goes on by itself, also when the sheet is closed. */

import type { Home, HomeSnapshot, Household, MovePreview } from "../../contract.ts";
import { html, put, type Child } from "../dom.ts";
import { icon } from "../icons.ts";
import { problemText, say } from "../strings.ts";
import { dayAndTime } from "../times.ts";
import { hostProblemText } from "../unheard.ts";
import type { Action, Banner } from "./banners.ts";
import { chooseCopy } from "./copies.ts";
import { exportAge, hostName } from "./house.ts";
import { confirm, openSheet, type Sheet } from "./sheet.ts";

export interface MovingParts {
  household: Household;
  home: Home;
  localId: string;
  name: string;
  zone: string | undefined;
  defaultHost: string | null;
  announce(text: string): void;
  exportSave(): Promise<void>;
}

const CODE_PROBLEMS = new Set(["enrol_required", "enrol_wrong"]);
const STEPS_TO_HOST = ["prepare", "activate"] as const;
const STEPS_HOME = ["park", "arrive"] as const;

/** The way to a host: address, what it means there, the move itself. */
export async function moveToHost(parts: MovingParts): Promise<void> {
  const sheet = openSheet(say("move.heading", { name: parts.name }));
  askAddress(sheet, parts, parts.defaultHost ?? "");
  await sheet.closed;
}

/** A move that stands still for the want of a code goes on from here. */
async function enterCode(parts: MovingParts, origin: string, problem: string): Promise<void> {
  const sheet = openSheet(say("move.heading", { name: parts.name }));
  sheet.show(html("p", { "aria-busy": "true" }, say("move.asking")));
  try {
    showPreview(sheet, parts, origin, await parts.household.previewMove(parts.localId, origin), { problem, code: true });
  } catch (failed) {
    sheet.show(alertOf(problemText(failed)));
  }
  await sheet.closed;
}

function askAddress(sheet: Sheet, parts: MovingParts, address: string, problem: string | null = null): void {
  const { name } = parts;
  const input = html("input", {
    id: "host-address",
    type: "url",
    inputmode: "url",
    autocomplete: "url",
    placeholder: "https://",
    value: address,
    required: true,
  });
  const go = html("button", { type: "submit", class: "main" }, say("move.ask"));
  const submit = async (event: Event) => {
    event.preventDefault();
    const origin = originOf(input.value);
    if (!origin) return askAddress(sheet, parts, input.value, say("move.address.bad"));
    go.disabled = true;
    go.textContent = say("move.asking");
    try {
      showPreview(sheet, parts, origin, await parts.household.previewMove(parts.localId, origin));
    } catch (failed) {
      askAddress(sheet, parts, input.value, hostProblemText(failed, origin, location.origin));
    }
  };
  sheet.show(
    html("p", {}, say("move.text", { name })),
    alertOf(problem),
    html(
      "form",
      { class: "field", onsubmit: submit, novalidate: true },
      html("label", { for: "host-address" }, say("move.address")),
      input,
      html("p", { class: "small soft" }, say("move.address.note")),
      html("div", { class: "row end" }, go),
    ),
  );
  input.focus();
}

/** The origin of what was typed, `https` where no scheme is named; null when it is no address. */
export function originOf(text: string): string | null {
  const trimmed = text.trim();
  if (!trimmed) return null;
  const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:|\/|$)/i.test(trimmed);
  const address = /^[a-z]+:\/\//i.test(trimmed) ? trimmed : `${loopback ? "http" : "https"}://${trimmed}`;
  try {
    const { protocol, origin } = new URL(address);
    return protocol === "https:" || protocol === "http:" ? origin : null;
  } catch {
    return null;
  }
}

function showPreview(
  sheet: Sheet,
  parts: MovingParts,
  origin: string,
  preview: MovePreview,
  state: { problem: string | null; code: boolean } = { problem: null, code: false },
): void {
  const { name } = parts;
  const host = hostName(origin);
  const code = html("input", { id: "enrol-code", type: "text", autocomplete: "off" });
  const forbidden = preview.warnings.some((warning) => warning.forbids);
  const go = html("button", { type: "submit", class: "main", disabled: forbidden }, say("move.go", { name }));
  const submit = (event: Event) => {
    event.preventDefault();
    void runMove(sheet, parts, origin, preview, code.value.trim());
  };
  sheet.show(
    html("p", { class: "host" }, icon("move"), host),
    html("p", {}, say("move.goes", { name, host })),
    html("ul", { class: "goes" }, ...["save", "turns", "key"].map((key) => html("li", {}, say(`move.goes.${key}`, { name })))),
    html("p", { class: "small" }, say("move.stays", { name })),
    ...warnings(preview, name, host),
    alertOf(state.problem),
    html(
      "form",
      { class: "field", onsubmit: submit },
      state.code ? html("label", { for: "enrol-code" }, say("move.code")) : null,
      state.code ? code : null,
      state.code ? html("p", { class: "small soft" }, say("move.code.why")) : null,
      html(
        "div",
        { class: "row end" },
        html("button", { type: "button", onclick: () => askAddress(sheet, parts, origin) }, say("move.other")),
        go,
      ),
    ),
  );
  (state.code ? code : go).focus();
}

function warnings(preview: MovePreview, name: string, host: string): Child[] {
  return preview.warnings.map(({ code, forbids }) =>
    html(
      "p",
      { class: forbids ? "alert" : "notice", "data-warning": code },
      icon("warn"),
      html("span", {}, say(`warning.${code}`, { name, host }, say("warning.other", { code }))),
    ),
  );
}

async function runMove(sheet: Sheet, parts: MovingParts, origin: string, preview: MovePreview, enrolCode: string): Promise<void> {
  const host = hostName(origin);
  const steps = showSteps(sheet, parts, STEPS_TO_HOST, {
    text: say("move.under", { name: parts.name, host }),
    from: say("pets.here"),
    to: host,
  });
  try {
    await parts.household.moveToHost(parts.localId, origin, enrolCode ? { enrolCode } : {});
    steps.end(say("move.done.remote", { name: parts.name, host }));
  } catch (problem) {
    if (isLost(problem)) return; // it goes on by itself: the steps stay, and so does the banner
    const code = codeOf(problem);
    steps.stop();
    showPreview(sheet, parts, origin, preview, { problem: problemText(problem), code: CODE_PROBLEMS.has(code) });
  }
}

interface Way {
  text: string;
  from: string;
  to: string;
}

/** The steps of a move as they are done, with what stops the present one; at last where the pet lives now, until its owner
    has seen it. (That it is done is said by whoever follows the pet: a move may also end when this is closed.) */
function showSteps(sheet: Sheet, parts: MovingParts, steps: readonly string[], way: Way): { end(text: string): void; stop(): void } {
  const list = html("ol", { class: "steps" });
  const problem = html("div", { role: "status" });
  const note = html("p", { class: "small soft" }, say("move.close.safe"));
  const road = makeRoad(way, parts);
  const going = html("p", {}, way.text);
  sheet.show(going, road.element, list, problem, note);
  let begun = false;
  const draw = (at: number) => {
    put(list, ...steps.map((step, index) => stepRow(step, index, at)));
    road.show(at / steps.length);
  };
  const stop = parts.home.subscribe(({ move }) => {
    begun ||= move !== null;
    draw(move ? Math.max(0, steps.indexOf(move.step)) : begun ? steps.length : 0);
    put(
      problem,
      move?.problem ? html("p", { class: "notice" }, moveProblem(move)) : null,
      move?.problem?.lost ? html("button", { type: "button", onclick: () => parts.home.retry() }, say("move.retry")) : null,
    );
  });
  void sheet.closed.then(stop);
  const end = (text: string) => {
    stop();
    going.remove();
    draw(steps.length);
    const done = html("button", { type: "button", class: "main", onclick: () => sheet.close() }, say("move.seen"));
    put(problem, html("p", { class: "told" }, icon("check"), html("strong", {}, text)));
    note.replaceWith(html("div", { class: "row end" }, done));
    if (sheet.element.open) done.focus();
  };
  return { end, stop };
}

function stepRow(step: string, index: number, at: number): HTMLElement {
  const state = index < at ? "done" : index === at ? "now" : "";
  return html("li", { class: state, "aria-current": state === "now" ? "step" : null }, say(`step.${step}`));
}

/** Two homes and somebody on the way between them; the words beside it tell the same. */
function makeRoad({ from, to }: Way, { household, localId }: MovingParts) {
  const walker = html("span", { class: "pet-dot walker" });
  walker.style.setProperty("--hue", String(household.snapshot().pets.find((pet) => pet.localId === localId)?.hue ?? 150));
  const home = (label: string) => html("span", { class: "road-end" }, icon("house"), html("span", { class: "small" }, label));
  const lane = html("span", { class: "lane" }, walker);
  const element = html("div", { class: "road", "aria-hidden": "true" }, home(from), lane, home(to));
  return { element, show: (share: number) => lane.style.setProperty("--share", String(share)) };
}

function moveProblem(move: NonNullable<HomeSnapshot["move"]>): string {
  const { problem } = move;
  return problem?.lost ? say(`move.lost.${problem.code}`, {}, say("move.lost")) : problemText(problem);
}

/** The way back into the page. */
export async function moveHere(parts: MovingParts): Promise<void> {
  const { household, localId, name } = parts;
  const preview = await household.previewMoveHere(localId);
  const host = hostName(preview.host.origin);
  const sheet = openSheet(say("here.heading", { name }));
  const forbidden = preview.warnings.some((warning) => warning.forbids);
  const go = html("button", { type: "button", class: "main", disabled: forbidden, onclick: () => void run() }, say("here.go", { name }));
  async function run(problem: string | null = null): Promise<void> {
    const steps = showSteps(sheet, parts, STEPS_HOME, { text: say("here.under", { name, host }), from: host, to: say("pets.here") });
    try {
      await household.moveHere(localId);
      steps.end(say("move.done.local", { name }));
    } catch (failed) {
      if (isLost(failed)) return;
      steps.stop();
      show(problemText(failed) || problem);
    }
  }
  function show(problem: string | null): void {
    sheet.show(
      html("p", {}, say("here.text", { name, host })),
      ...warnings(preview, name, host),
      alertOf(problem),
      html("div", { class: "row end" }, html("button", { type: "button", onclick: () => sheet.close() }, say("sheet.cancel")), go),
    );
  }
  show(null);
  await sheet.closed;
}

/** Going on from a copy, when the host is out of reach: said plainly what may be missing and what the host may yet do. */
export async function recover(parts: MovingParts): Promise<boolean> {
  const { household, localId, name, zone } = parts;
  const copies = await household.copies(localId);
  const newest = copies[0];
  const from = await chooseCopy(copies, {
    heading: say("recover.heading", { name }),
    text: [
      say("recover.text", { name, time: newest ? dayAndTime(newest.atMs, zone) : "" }),
      say("recover.missing", { name }),
      say("recover.stop", { name }),
    ],
    go: say("recover.go", { name }),
    none: say("recover.none", { name }),
    zone,
  });
  if (from === null) return false;
  await household.recover(localId, from);
  parts.announce(say("move.done.local", { name }));
  return true;
}

/** A pet whose rules failed goes on from another copy. */
export async function goBack({ household, localId, name, zone }: MovingParts): Promise<void> {
  const [stopped, ...older] = await household.copies(localId);
  const from = await chooseCopy(older, {
    heading: say("back.heading", { name }),
    text: [say("back.text", { name }), say("back.kept", { name, time: stopped ? dayAndTime(stopped.atMs, zone) : "" })],
    go: say("back.go"),
    none: say("back.none", { name }),
    zone,
  });
  if (from !== null) await household.goBack(localId, from);
}

/** Goodbye: the file is offered first, the name is typed, and only then it is deleted. */
export async function sayGoodbye(parts: MovingParts, exportedAtMs: number | null, nowMs: number): Promise<boolean> {
  const { name } = parts;
  let sure = false;
  const sheet = openSheet(say("delete.heading", { name }));
  const go = html("button", { class: "danger", type: "submit", disabled: true }, say("delete.go"));
  const typed = html("input", { id: "typed-name", type: "text", autocomplete: "off" });
  typed.addEventListener("input", () => (go.disabled = !sameName(typed.value, name)));
  const told = html("span", { class: "small soft", role: "status" }, exportAge(exportedAtMs, nowMs));
  const keep = async () => {
    try {
      await parts.exportSave();
      told.textContent = say("house.exported");
    } catch (problem) {
      told.textContent = problemText(problem);
    }
  };
  const submit = (event: Event) => {
    event.preventDefault();
    if (go.disabled) return;
    sure = true;
    sheet.close();
  };
  sheet.show(
    html("p", {}, say("delete.text", { name })),
    html(
      "div",
      { class: "row" },
      html("button", { type: "button", class: "main", onclick: () => void keep() }, icon("file"), say("delete.file")),
      told,
    ),
    html(
      "form",
      { class: "field", onsubmit: submit },
      html("label", { for: "typed-name" }, say("delete.type", { name })),
      typed,
      html("div", { class: "row end" }, html("button", { type: "button", onclick: () => sheet.close() }, say("delete.keep", { name })), go),
    ),
  );
  await sheet.closed;
  return sure;
}

/** A letter with an accent may be one sign or two: a keyboard writes the one, a file may have brought the other. */
export function sameName(typed: string, name: string): boolean {
  const plain = (text: string) => text.normalize("NFKC").trim().toLowerCase();
  return plain(typed) === plain(name);
}

/** What a move under way says above the room, with the ways out that are safe now. */
export function moveBanner(
  snapshot: HomeSnapshot,
  name: string,
  parts: () => MovingParts,
  tell: (problem: unknown) => void,
): Banner | null {
  const { move } = snapshot;
  if (!move) return null;
  const { household, home, localId } = parts();
  const text = move.problem ? moveProblem(move) : say(`move.now.${move.to}`, { name });
  const actions: Action[] = [];
  if (move.problem?.lost) actions.push({ label: say("move.retry"), run: () => home.retry() });
  if (move.problem && CODE_PROBLEMS.has(move.problem.code) && snapshot.host) {
    const { host } = snapshot;
    actions.push({ label: say("move.entercode"), run: () => void enterCode(parts(), host, text).catch(tell) });
  }
  if (move.problem?.code === "other_device") actions.push({ label: say("move.takeover"), run: () => void takeOver(parts()).catch(tell) });
  if (move.problem && move.abandonable)
    actions.push({ label: say("move.giveup"), run: () => void household.abandonMove(localId).catch(tell) });
  else if (move.problem && move.step === "activate")
    actions.push({ label: say("home.recover", { name }), run: () => void recover(parts()).catch(tell) });
  return { key: "move", text, calm: move.problem === null, actions };
}

/** A parked pet lives on at its host; one that was parked for another device is asked for before it is taken over. */
export async function letLiveOn(parts: MovingParts): Promise<void> {
  try {
    await parts.household.resume(parts.localId);
  } catch (problem) {
    if (codeOf(problem) !== "other_device") throw problem;
    await takeOver(parts);
  }
}

async function takeOver({ household, localId, name }: MovingParts): Promise<void> {
  if (await confirm(say("takeover.heading", { name }), [say("takeover.text", { name })], say("takeover.go"), { danger: true }))
    await household.takeOver(localId);
}

function alertOf(problem: string | null): Child {
  return problem ? html("p", { class: "alert", role: "alert" }, problem) : null;
}

function isLost(problem: unknown): boolean {
  return typeof problem === "object" && problem !== null && "lost" in problem && problem.lost === true;
}

function codeOf(problem: unknown): string {
  return typeof problem === "object" && problem !== null && "code" in problem && typeof problem.code === "string" ? problem.code : "";
}
