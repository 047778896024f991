/* A pet's request as a plan: the oldest lines dropped until prompt and output fit. Plain values, no ONNX Runtime. */

import type { GenerationRequest } from "../contract.ts";
import { requestRefused } from "./problem.ts";
import { CONTEXT_TOKENS_MAX, firstKeptLine, insertionText, LOOKUPS_MAX, promptText } from "./request.ts";
import type { Sampling } from "./sampling.ts";

/** What ends each mode, beside the end-of-sequence token. */
const STOPS = { line: ["\n"], diary: ["\n\n"] } as const;
/** The most prompt tokens of one step, 0 for all at once: chunking moves logits by rounding, so a receipt names it. */
export const PREFILL_CHUNK = 0;
/** A lookup's answer: a guess, ten times the engine's longest. */
const INSERTION_TOKENS_MAX = 256;

/** One generation, whole: the same plan on the same brain gives the same tokens. `constraint` holds the legal closed
    tags; with an empty list `[` is never written, null masks nothing. `insertions` maps a tag to the ids that are
    appended when it closes; they count against `maxNew`. */
export interface DecodePlan {
  promptIds: readonly number[];
  maxNew: number;
  sampling: Sampling;
  stops: readonly string[];
  constraint: readonly string[] | null;
  insertions: ReadonlyMap<string, readonly number[]>;
  insertionsMax: number;
  prefillChunk: number;
  ignoreEos: boolean;
}

export interface Encoder {
  encode(text: string): number[];
}

/** The plan of a pet's turn. Throws `does_not_fit` when header, prefix and output alone are too long, `prompt_empty`. */
export function planTurn(request: GenerationRequest, encoder: Encoder, positionsMax: number): DecodePlan {
  const promptIds = fitPrompt(
    request,
    encoder,
    Math.min(request.ctx, positionsMax, CONTEXT_TOKENS_MAX) - request.maxNew,
  );
  if (promptIds.length === 0)
    throw requestRefused("prompt_empty", "header, lines and prefix", "no token", "at least one");
  const { seed, topK, temperatureMilli, topPMilli } = request;
  return {
    promptIds,
    maxNew: request.maxNew,
    sampling: { seed, topK, temperatureMilli, topPMilli },
    stops: STOPS[request.mode],
    constraint: request.tags,
    insertions: insertionsOf(request, encoder),
    insertionsMax: LOOKUPS_MAX,
    prefillChunk: PREFILL_CHUNK,
    ignoreEos: false,
  };
}

/** The ids behind each lookup tag that is legal now. */
function insertionsOf(request: GenerationRequest, encoder: Encoder): Map<string, readonly number[]> {
  const lookups = Object.entries(request.answers).filter(([tag]) => request.tags.includes(tag));
  const insertions = new Map(lookups.map(([tag, answer]) => [tag, encoder.encode(insertionText(answer))]));
  for (const ids of insertions.values()) {
    if (ids.length <= INSERTION_TOKENS_MAX) continue;
    const expected = `answers of legal tags, at most ${INSERTION_TOKENS_MAX} tokens each`;
    throw requestRefused("insertion_malformed", "insertions", `${ids.length} tokens`, expected);
  }
  return insertions;
}

/** The ids of the longest prompt of at most `budget` tokens that keeps header, prefix and the newest lines. Lines are
    first counted alone; the joined text is then encoded whole and, should merges over a border have made it longer,
    loses further lines. */
export function fitPrompt({ header, lines, prefix }: GenerationRequest, encoder: Encoder, budget: number): number[] {
  const count = (text: string) => (text ? encoder.encode(text).length : 0);
  const [headerTokens, prefixTokens] = [count(promptText(header, [], "")), count(prefix)];
  const counts = newestCounts(lines, count, budget);
  const kept = firstKeptLine(headerTokens, counts, prefixTokens, budget);
  if (kept === null) throw tooLong(headerTokens + prefixTokens, budget);
  for (let first = lines.length - counts.length + kept; ; first += 1) {
    const ids = encoder.encode(promptText(header, lines.slice(first), prefix));
    if (ids.length <= budget) return ids;
    if (first === lines.length) throw tooLong(ids.length, budget);
  }
}

/** Token counts of the newest lines, oldest first, ending with the first that can no longer fit. */
function newestCounts(lines: readonly string[], count: (text: string) => number, budget: number): number[] {
  const counts: number[] = [];
  for (let at = lines.length - 1, sum = 0; at >= 0 && sum <= budget; at -= 1) {
    counts.unshift(count(`${lines[at]}\n`));
    sum += counts[0] as number;
  }
  return counts;
}

function tooLong(found: number, budget: number) {
  return requestRefused("does_not_fit", "header and prefix", `${found} tokens`, `at most ${budget}`);
}
