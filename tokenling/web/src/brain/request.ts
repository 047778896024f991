/* A request, checked; its canonical form; and which of its lines are kept: the twin of `tokenling.engine.request` and
   `tokenling.runtime.requests`. */

import type { GenerationRequest, JsonObject } from "../contract.ts";
import { requestRefused } from "./problem.ts";

/** The pet's own context bound, whatever the model could hold. */
export const CONTEXT_TOKENS_MAX = 1024;
/** Lookups answered within one turn. */
export const LOOKUPS_MAX = 3;
/** One text of a request, in code points: a save's own bound. */
const TEXT_CHARS_MAX = 2 ** 20;
/** A guess: fifty times the chat that a save keeps. */
const LINES_MAX = 10_000;
const TEMPERATURE_MAX = 100_000;
const TOP_K_MAX = 2 ** 20;
const CTX_MAX = 2 ** 31;

const FIELDS = [
  "header",
  "lines",
  "prefix",
  "mode",
  "tags",
  "answers",
  "maxNew",
  "topK",
  "temperatureMilli",
  "topPMilli",
  "ctx",
  "seed",
];

/** The request in `value`, as the engine makes it. Throws a `BrainProblem` that names the field, never its content. */
export function readRequest(value: unknown): GenerationRequest {
  if (!isObject(value)) throw requestRefused("request_malformed", "request", kindOf(value), "an object");
  const unknown = Object.keys(value).find((name) => !FIELDS.includes(name));
  if (unknown !== undefined)
    throw requestRefused("field_unknown", unknown.slice(0, 40), "a field", `one of ${FIELDS.join(", ")}`);
  const mode = value["mode"];
  if (mode !== "line" && mode !== "diary") throw wrong("mode", mode, "line or diary");
  return {
    header: text(value["header"], "header"),
    lines: texts(value["lines"], "lines"),
    prefix: text(value["prefix"], "prefix"),
    mode,
    tags: texts(value["tags"], "tags"),
    answers: answers(value["answers"]),
    maxNew: integer(value, "maxNew", 1, CONTEXT_TOKENS_MAX),
    topK: integer(value, "topK", 0, TOP_K_MAX),
    temperatureMilli: integer(value, "temperatureMilli", 0, TEMPERATURE_MAX),
    topPMilli: integer(value, "topPMilli", 0, 1000),
    ctx: integer(value, "ctx", 1, CTX_MAX),
    seed: integer(value, "seed", 0, Number.MAX_SAFE_INTEGER),
  };
}

/** The request as a receipt holds it; its canonical text is what the request digest is taken of. */
export function requestJson(request: GenerationRequest): JsonObject {
  const { header, lines, prefix, mode, tags, maxNew, topK, temperatureMilli, topPMilli, ctx, seed } = request;
  const answers = { ...request.answers };
  return {
    header,
    lines: [...lines],
    prefix,
    mode,
    tags: [...tags],
    answers,
    maxNew,
    topK,
    temperatureMilli,
    topPMilli,
    ctx,
    seed,
  };
}

/** The prompt: header and lines each closed by a newline, an empty header left out, then the open prefix. */
export function promptText(header: string, lines: readonly string[], prefix: string): string {
  return [...(header ? [header] : []), ...lines].map((part) => `${part}\n`).join("") + prefix;
}

/** What is appended behind a lookup tag, encoded on its own: `[look weather]` + `(rain)`. */
export function insertionText(answer: string): string {
  return `(${answer})`;
}

/** The index of the oldest line that is kept so that header, kept lines and prefix fit. Null when header and prefix
    alone do not: dropping lines never mends that. */
export function firstKeptLine(
  headerTokens: number,
  lineTokens: readonly number[],
  prefixTokens: number,
  budget: number,
): number | null {
  let free = budget - headerTokens - prefixTokens;
  if (free < 0) return null;
  let first = lineTokens.length;
  while (first > 0 && (lineTokens[first - 1] as number) <= free) {
    first -= 1;
    free -= lineTokens[first] as number;
  }
  return first;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What JSON calls a value of this kind: a refusal says it where the value itself may be an owner's words. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return value === null ? "null" : "nothing";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "number") return Number.isInteger(value) ? "an integer" : "a number with a fraction or exponent";
  const names: Record<string, string> = { string: "a text", boolean: "true or false", object: "an object" };
  return names[typeof value] ?? "no JSON";
}

function text(value: unknown, field: string): string {
  // a text of more UTF-16 units may still have few enough code points
  if (
    typeof value !== "string" ||
    value.length > 2 * TEXT_CHARS_MAX ||
    (value.length > TEXT_CHARS_MAX && Array.from(value).length > TEXT_CHARS_MAX)
  ) {
    throw wrong(field, value, `a text of at most ${TEXT_CHARS_MAX} characters`);
  }
  if (/[\ud800-\udfff]/u.test(value))
    throw requestRefused("field_malformed", field, "a lone surrogate", "text that is valid Unicode");
  return value;
}

function texts(value: unknown, field: string): string[] {
  if (!Array.isArray(value) || value.length > LINES_MAX)
    throw wrong(field, value, `a list of at most ${LINES_MAX} texts`);
  return value.map((entry) => text(entry, field));
}

function answers(value: unknown): Record<string, string> {
  if (!isObject(value)) throw wrong("answers", value, "an object of tags and texts");
  return Object.fromEntries(
    Object.entries(value).map(([tag, answer]) => [text(tag, "answers"), text(answer, "answers")]),
  );
}

function integer(document: Record<string, unknown>, field: string, least: number, most: number): number {
  const value = document[field];
  if (typeof value !== "number" || !Number.isInteger(value) || value < least || value > most) {
    throw wrong(field, value, `an integer from ${least} to ${most}`);
  }
  return value;
}

function wrong(field: string, value: unknown, expected: string) {
  return requestRefused("field_malformed", field, typeof value === "number" ? value : kindOf(value), expected);
}
