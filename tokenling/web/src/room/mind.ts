/* From a turn and its receipt to what the mind view tells: what was asked, what it could notice, what it nearly did. */

import type { Choice, Json, JsonObject, MindTurn } from "../contract.ts";
import { nameOf, say } from "./strings.ts";

export interface Option {
  label: string;
  ppm: number;
  /** Of all there was, 0 to 1: the length of its bar. */
  bar: number;
}

export interface Heard {
  who: "owner" | "pet" | "happening";
  text: string;
}

export interface ChoiceTold {
  step: number;
  options: Option[];
  /** What the options not shown weighed together. */
  restPpm: number;
}

export interface MindTold {
  kind: string;
  /** The sentences that told it who and where it is, word for word. */
  told: string[];
  /** The same, each with what it is about. */
  noticed: { about: string; text: string }[];
  lines: Heard[];
  possible: string[];
  lookups: { asked: string; answer: string }[];
  looked: { asked: string; answer: string }[];
  facts: { seed: string; brainId: string; promptTokens: number; outputTokens: number; millis: number; stop: string; nearTies: number };
}

/** Options shown of one choice: what it nearly chose, not the whole list. */
export const OPTIONS_MAX = 6;
const WHOLE_PPM = 1_000_000;
/** Less than this is rounding. */
const WORDS_PPM_MIN = 2_000;

export function mindOf(turn: MindTurn, name: string): MindTold {
  const { receipt } = turn;
  const request = objectOf(receipt.request);
  const answers = objectOf(request.answers);
  const used = textsOf(receipt.insertionsUsed);
  const lookups = Object.entries(answers).map(([tag, answer]) => ({ asked: tagWords(tag), answer: textOf(answer) }));
  const told = textOf(request.header).split("\n").filter(Boolean);
  return {
    kind: turn.kind ?? "reactive",
    told,
    noticed: told.map(noticedOf),
    lines: textsOf(request.lines).map((line) => lineOf(line, name)),
    possible: textsOf(request.tags)
      .filter((tag) => !(tag in answers))
      .map(tagWords),
    lookups,
    looked: used.map((tag) => ({ asked: tagWords(tag), answer: textOf(answers[tag]) })),
    facts: factsOf(receipt, request),
  };
}

function factsOf(receipt: JsonObject, request: JsonObject): MindTold["facts"] {
  return {
    seed: String(receipt.seed ?? request.seed ?? ""),
    brainId: textOf(receipt.brainId),
    promptTokens: numberOf(receipt.promptTokens),
    outputTokens: numberOf(receipt.outputTokens),
    millis: Math.round((numberOf(receipt.prefillMicros) + numberOf(receipt.decodeMicros)) / 1000),
    stop: textOf(receipt.stop),
    nearTies: Array.isArray(receipt.nearTies) ? receipt.nearTies.length : 0,
  };
}

/** What a header line is about, by how it begins (`tokenling/engine/prompts.py`). */
const ABOUT: readonly (readonly [begins: RegExp, about: string])[] = [
  [/^(?=Awake |Asleep )/, "now"],
  [/^Body: /, "body"],
  [/^(?=Snacks: |Wants )/, "wants"],
  [/^Offer: /, "offer"],
  [/^Knows: /, "knows"],
  [/^Recall: /, "recall"],
  [/^Lately: /, "lately"],
];

function noticedOf(line: string): { about: string; text: string } {
  const found = ABOUT.find(([begins]) => begins.test(line));
  return found ? { about: found[1], text: line.replace(found[0], "") } : { about: "who", text: line };
}

/** `Owner: hi` and `Pip: hm` as they stand in a prompt; a line in parentheses is a happening. */
function lineOf(line: string, name: string): Heard {
  if (line.startsWith("Owner:")) return { who: "owner", text: line.slice(6).trim() };
  const own = `${name}:`;
  if (line.startsWith(own)) return { who: "pet", text: line.slice(own.length).trim() };
  return { who: "happening", text: line.replace(/^\((.*)\)$/, "$1").trim() };
}

/** Each choice with its likeliest options. A tag is written in several pieces and each was a choice of its own: here they
    are one, so a share is that of the whole action. What is left over is going on with plain words. */
export function choicesOf(choices: readonly Choice[], tags: readonly string[]): ChoiceTold[] {
  return joined(choices).map(({ step, shares }) => {
    const total = [...shares.values()].reduce((sum, ppm) => sum + ppm, 0);
    const all = [...shares].map(([key, ppm]) => ({ label: optionWords(key, tags), ppm }));
    if (WHOLE_PPM - total >= WORDS_PPM_MIN) all.push({ label: say("mind.words"), ppm: WHOLE_PPM - total });
    all.sort((a, b) => b.ppm - a.ppm || (a.label < b.label ? -1 : 1));
    const options = all.slice(0, OPTIONS_MAX).map((option) => ({ ...option, bar: Math.min(1, option.ppm / WHOLE_PPM) }));
    return { step, options, restPpm: all.slice(OPTIONS_MAX).reduce((sum, { ppm }) => sum + ppm, 0) };
  });
}

interface Joined {
  step: number;
  lastStep: number;
  shares: Map<string, number>;
}

/** A choice at the very next step whose keys all go on from one unfinished key takes that key's place. */
function joined(choices: readonly Choice[]): Joined[] {
  const groups: Joined[] = [];
  for (const { step, sharesPpm } of choices) {
    const shares = new Map(Object.entries(sharesPpm));
    const group = groups.at(-1);
    const stem = group && step === group.lastStep + 1 ? stemOf(group.shares, shares) : null;
    if (!group || stem === null) groups.push({ step, lastStep: step, shares });
    else expand(group, stem, shares, step);
  }
  return groups;
}

function stemOf(shares: ReadonlyMap<string, number>, next: ReadonlyMap<string, number>): string | null {
  const open = [...shares.keys()].filter((key) => !key.endsWith("]"));
  return (
    open.find((key) => next.size > 0 && [...next.keys()].every((longer) => longer.length > key.length && longer.startsWith(key))) ?? null
  );
}

function expand(group: Joined, stem: string, shares: ReadonlyMap<string, number>, step: number): void {
  const weight = group.shares.get(stem) ?? 0;
  group.shares.delete(stem);
  for (const [key, ppm] of shares) group.shares.set(key, Math.round((weight * ppm) / WHOLE_PPM));
  group.lastStep = step;
}

/** Tags named of an unfinished one before it is cut short. */
const NAMED_MAX = 3;

function optionWords(key: string, tags: readonly string[]): string {
  if (key.endsWith("]")) return tagWords(key);
  if (key === "[") return say("mind.any");
  const meant = tags.filter((tag) => tag.startsWith(key)).map(tagWords);
  if (meant.length === 0) return key;
  const named = meant.slice(0, NAMED_MAX).join(say("mind.or"));
  return meant.length > NAMED_MAX ? say("mind.or.more", { named, count: meant.length - NAMED_MAX }) : named;
}

/** `[go pond]` in words of an owner. */
export function tagWords(tag: string): string {
  const inside = tag.replace(/^\[|\]$/g, "");
  if (inside.startsWith("remember")) return say("tag.remember");
  if (inside.startsWith("recall")) return say("tag.recall", { topic: inside.slice("recall ".length) });
  if (inside.startsWith("go ")) return say("tag.go", { place: nameOf("place", inside.slice(3)) });
  return nameOf("tag", inside);
}

/** A share in hundredths; a small one is not nothing. */
export function shareWords(ppm: number): string {
  if (ppm > 0 && ppm < 10_000) return say("mind.share.tiny");
  return say("mind.share", { percent: Math.round(ppm / 10_000) });
}

function objectOf(value: Json | undefined): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : {};
}

function textsOf(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : [];
}

function textOf(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}

function numberOf(value: Json | undefined): number {
  return typeof value === "number" ? value : 0;
}
