/* The mind view: what the pet was asked when it said a line, what it noticed, what it nearly did, and the proof that the
   words came from there. */

import type { Brain, MindTurn, Verdict } from "../../contract.ts";
import { html, put, type Child } from "../dom.ts";
import { icon } from "../icons.ts";
import { choicesOf, mindOf, shareWords, type ChoiceTold, type Heard } from "../mind.ts";
import { PET_LANGUAGE, say } from "../strings.ts";
import { openSheet } from "./sheet.ts";

export interface MindSources {
  /** The turn that wrote the line, or null when its receipt is not kept any more. */
  turn(): Promise<MindTurn | null>;
  brain(): Promise<Brain>;
  announce(text: string): void;
}

const VERDICT_ICON: Record<Verdict["verdict"], string> = {
  identical: "check",
  near_tie: "almost",
  different: "differs",
  not_provable_here: "unknown",
};

/** Opens the mind view for words of a pet. Resolves when it is closed. */
export async function openMind(name: string, words: string, sources: MindSources): Promise<void> {
  const sheet = openSheet(say("mind.heading", { name }), { wide: true });
  const quote = html("blockquote", { class: "quote", dir: "auto", lang: PET_LANGUAGE }, words);
  sheet.show(quote, html("p", { class: "soft", "aria-busy": "true" }, say("mind.loading")));
  const proof = new AbortController();
  void sheet.closed.then(() => proof.abort());
  try {
    const turn = await sources.turn();
    sheet.show(quote, ...(turn ? mindParts(turn, name, sources, proof.signal) : [html("p", {}, say("mind.gone", { name }))]));
  } catch {
    sheet.show(quote, html("p", {}, say("mind.unreachable")));
  }
  await sheet.closed;
}

function mindParts(turn: MindTurn, name: string, sources: MindSources, signal: AbortSignal): Child[] {
  const told = mindOf(turn, name);
  const nearly = html("div", { class: "nearly" });
  const tags =
    turn.receipt.request && typeof turn.receipt.request === "object" && "tags" in turn.receipt.request ? turn.receipt.request.tags : [];
  const known = Array.isArray(tags) ? tags.filter((tag): tag is string => typeof tag === "string") : [];
  const showChoices = (choices: MindTurn["choices"]) => put(nearly, ...nearlyParts(choices && choicesOf(choices, known), name));
  showChoices(turn.choices);
  return [
    part("nearly", nearly),
    part("noticed", noticed(told), lookups(told)),
    part("asked", html("p", {}, say(`mind.kind.${told.kind}`, { name })), told.lines.length ? dialogue(told.lines, name) : null),
    part("proof", proofPart(turn, sources, signal, showChoices)),
    details("mind.whole", ...wordForWord(told)),
    details("mind.facts", facts(told.facts)),
  ];
}

/** What the pet could tell of itself and its world, each with a word for what it is about. */
function noticed({ noticed: found }: ReturnType<typeof mindOf>): HTMLElement {
  const rows = found.flatMap(({ about, text }) => [html("dt", {}, say(`mind.about.${about}`)), html("dd", { dir: "auto" }, text)]);
  return html("dl", { class: "noticed" }, ...rows);
}

/** For those who want to see it: the very words, and all that it could have done. */
function wordForWord({ told, lines, possible }: ReturnType<typeof mindOf>): Child[] {
  const said = lines.map(({ text }) => text);
  return [
    html("p", { class: "small soft" }, say("mind.whole.text")),
    html("ul", { class: "whole" }, ...[...told, ...said].map((line) => html("li", { dir: "auto" }, line))),
    possible.length ? html("p", { class: "small" }, say("mind.possible", { options: possible.join(", ") })) : null,
  ];
}

function details(key: string, ...content: Child[]): HTMLElement {
  return html("details", { class: "facts" }, html("summary", {}, say(key)), ...content);
}

function part(key: string, ...content: Child[]): HTMLElement {
  return html("section", { class: `mind-part mind-${key}` }, html("h3", {}, say(`mind.${key}`)), ...content);
}

function dialogue(lines: readonly Heard[], name: string): HTMLElement {
  const row = ({ who, text }: Heard) =>
    who === "happening"
      ? html("li", { class: "soft", dir: "auto" }, text)
      : html("li", { dir: "auto" }, html("strong", {}, who === "owner" ? say("talk.you") : name), " ", text);
  return html("ul", { class: "heard" }, ...lines.map(row));
}

function lookups(told: ReturnType<typeof mindOf>): Child {
  if (told.looked.length === 0) return html("p", { class: "small soft" }, say("mind.looked.none"));
  const row = ({ asked, answer }: { asked: string; answer: string }) => html("li", {}, say("mind.looked", { asked, answer }));
  return html("ul", { class: "looked" }, ...told.looked.map(row));
}

function nearlyParts(choices: ChoiceTold[] | null, name: string): Child[] {
  if (choices === null) return [html("p", { class: "soft" }, say("mind.nearly.later"))];
  if (choices.length === 0) return [html("p", { class: "soft" }, say("mind.nearly.none", { name }))];
  const how = html("p", { class: "small soft" }, say("mind.nearly.how", { name }));
  return [
    how,
    ...choices.flatMap((choice, index) => [
      choices.length > 1 ? html("h4", {}, say("mind.choice", { number: index + 1 })) : null,
      html("ol", { class: "bars" }, ...choice.options.map(bar)),
      choice.restPpm > 0 ? html("p", { class: "small soft" }, say("mind.rest", { share: shareWords(choice.restPpm) })) : null,
    ]),
  ];
}

function bar({ label, ppm, bar: length }: ChoiceTold["options"][number]): HTMLElement {
  const fill = html("i", { "aria-hidden": "true" });
  // a property, not a style attribute: the page's policy forbids those
  fill.style.setProperty("--share", String(length));
  return html(
    "li",
    {},
    html("span", { class: "label" }, label),
    html("span", { class: "share" }, shareWords(ppm)),
    html("span", { class: "track", "aria-hidden": "true" }, fill),
  );
}

/** Runs the turn again in the page and says in plain words what came of it. */
function proofPart(
  turn: MindTurn,
  sources: MindSources,
  signal: AbortSignal,
  showChoices: (choices: MindTurn["choices"]) => void,
): HTMLElement {
  const result = html("div", { class: "verdict", role: "status" });
  const button = html("button", { type: "button", class: "main", onclick: () => void prove() }, say("mind.prove"));
  const box = html("div", { class: "proof" }, html("p", {}, say("mind.proof.text")), html("div", { class: "row" }, button), result);

  async function prove(): Promise<void> {
    button.disabled = true;
    put(result, html("p", { class: "soft" }, say("mind.proving")));
    try {
      const verdict = await (await sources.brain()).verify(turn.receipt, { signal });
      if (verdict.verdict !== "not_provable_here") showChoices(verdict.choices);
      put(result, ...verdictParts(verdict));
    } catch (problem) {
      if (signal.aborted) return;
      put(result, html("p", {}, say("mind.proof.failed", { code: codeOf(problem) })));
    }
    button.disabled = false;
  }
  return box;
}

function verdictParts(verdict: Verdict): Child[] {
  const reason =
    verdict.verdict === "not_provable_here" ? say(`mind.reason.${verdict.reason ?? "other"}`, {}, say("mind.reason.other")) : null;
  return [
    html(
      "p",
      { class: `told ${verdict.verdict}`, "data-verdict": verdict.verdict },
      icon(VERDICT_ICON[verdict.verdict]),
      html("strong", {}, say(`mind.verdict.${verdict.verdict}`)),
    ),
    html("p", {}, verdictText(verdict)),
    reason ? html("p", { class: "small soft" }, reason) : null,
  ];
}

/** A receipt may differ at a piece of the answer, or in what it claims of the whole. */
function verdictText({ verdict, reason, step }: Verdict): string {
  if (verdict === "different" && step === null) return say("mind.verdict.different.whole", { reason: reason ?? "" });
  return say(`mind.verdict.${verdict}.text`, { step: (step ?? 0) + 1 });
}

function facts({ seed, brainId, promptTokens, outputTokens, millis, stop, nearTies }: ReturnType<typeof mindOf>["facts"]): HTMLElement {
  const row = (key: string, value: string) => [html("dt", {}, say(`mind.fact.${key}`)), html("dd", {}, value)];
  return html(
    "dl",
    {},
    ...row("brain", brainId),
    ...row("seed", seed),
    ...row("tokens", say("mind.fact.tokens.value", { promptTokens, outputTokens })),
    ...row("time", say("mind.fact.time.value", { millis })),
    ...row("stop", say(`mind.stop.${stop}`, {}, stop)),
    ...row("ties", String(nearTies)),
  );
}

function codeOf(problem: unknown): string {
  return typeof problem === "object" && problem !== null && "code" in problem && typeof problem.code === "string" ? problem.code : "failed";
}
