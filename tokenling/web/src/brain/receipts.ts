/* Turn receipts, byte for byte of the form of `tokenling.runtime.receipts`: what ran, in digests and counts, with the
   request and the tokens, so that it can be run again on a host or in a page. */

import type { GenerationRequest, JsonObject, OwnerReceipt } from "../contract.ts";
import { canonicalJson, sha256 } from "./canonical.ts";
import type { Timings } from "./decode.ts";
import type { DecodePlan } from "./plan.ts";
import { BrainProblem, receiptRefused } from "./problem.ts";
import { isObject, kindOf, readRequest, requestJson } from "./request.ts";
import type { Writer } from "./writer.ts";

export const RECEIPT_VERSION = 1;
/** The execution provider that this page runs on. */
export const PROVIDER = "wasm";
/** What chooses ONNX Runtime's kernels here: there is one build, for all machines. */
export const PROCESSOR: readonly string[] = ["wasm32", "simd128"];
/** Quantised weights unfold to float32: the numbers that a host computes in `exact`. */
export const NUMERICS = "exact";
const STOPS = ["eos", "newline", "length", "cancelled"];
const TOKENS_MAX = 1024;

const SHAPES: Readonly<Record<string, "an integer" | "a text" | "an object" | "an array">> = {
  receiptVersion: "an integer",
  brainId: "a text",
  files: "an object",
  precision: "a text",
  numerics: "a text",
  provider: "a text",
  ortVersion: "a text",
  processor: "an array",
  prefillChunk: "an integer",
  seed: "an integer",
  requestSha256: "a text",
  promptSha256: "a text",
  outputSha256: "a text",
  textSha256: "a text",
  stop: "a text",
  insertionsUsed: "an array",
  nearTies: "an array",
  promptTokens: "an integer",
  outputTokens: "an integer",
  prefillMicros: "an integer",
  decodeMicros: "an integer",
};

/** What a receipt says of the brain that wrote. */
export interface Identity {
  brainId: string;
  files: Readonly<Record<string, string>>;
  precision: string;
}

/** A receipt that was read: its fields, the request and the tokens. */
export interface ReadReceipt {
  fields: JsonObject;
  request: GenerationRequest;
  tokens: readonly number[];
}

/** The owner's receipt of a turn that ended, in whatever way. */
export async function makeReceipt(
  identity: Identity,
  ortVersion: string,
  request: GenerationRequest,
  { plan, writer, prefillMs, decodeMs }: { plan: DecodePlan; writer: Writer } & Timings,
): Promise<OwnerReceipt> {
  return {
    receiptVersion: RECEIPT_VERSION,
    brainId: identity.brainId,
    files: { ...identity.files },
    precision: identity.precision,
    numerics: NUMERICS,
    provider: PROVIDER,
    ortVersion,
    processor: [...PROCESSOR],
    prefillMicros: Math.round(prefillMs * 1000),
    decodeMicros: Math.round(decodeMs * 1000),
    ...(await claims(plan, writer, request)),
    request: requestJson(request),
    tokens: [...writer.tokenIds],
  };
}

/** The part of a receipt that running the turn again gives again. */
export async function claims(plan: DecodePlan, writer: Writer, request: GenerationRequest): Promise<JsonObject> {
  return {
    ...(await asked(plan, request, writer.tokenIds)),
    textSha256: await sha256(writer.text),
    stop: writer.stop,
    insertionsUsed: [...writer.insertionsUsed],
    nearTies: [...writer.nearTies],
    promptTokens: plan.promptIds.length,
    outputTokens: writer.tokenIds.length,
  };
}

/** What a receipt with these tokens must say before anything runs again. */
export async function asked(
  plan: DecodePlan,
  request: GenerationRequest,
  tokens: readonly number[],
): Promise<JsonObject> {
  return {
    requestSha256: await sha256(canonicalJson(requestJson(request))),
    promptSha256: await sha256(canonicalJson([...plan.promptIds])),
    outputSha256: await sha256(canonicalJson([...tokens])),
    seed: plan.sampling.seed,
    prefillChunk: plan.prefillChunk,
  };
}

/** The owner's receipt in `value`. Throws a `BrainProblem` that names the field. */
export function readReceipt(value: unknown): ReadReceipt {
  if (!isObject(value)) throw receiptRefused("receipt_malformed", "receipt", kindOf(value), "one JSON object");
  const version = value["receiptVersion"];
  if (version !== RECEIPT_VERSION)
    throw receiptRefused("receipt_version", "receiptVersion", version, String(RECEIPT_VERSION));
  if (!Object.hasOwn(value, "request") || !Object.hasOwn(value, "tokens")) {
    throw receiptRefused("receipt_public", "receipt", "no request or no tokens", "the owner's copy");
  }
  checkShapes(value);
  const fields = Object.fromEntries(Object.keys(SHAPES).map((name) => [name, value[name]])) as JsonObject;
  return { fields, request: requestIn(value["request"]), tokens: tokensIn(value["tokens"]) };
}

function checkShapes(document: Record<string, unknown>): void {
  const unknown = Object.keys(document)
    .filter((name) => !Object.hasOwn(SHAPES, name) && name !== "request" && name !== "tokens")
    .sort()[0];
  if (unknown !== undefined) {
    throw receiptRefused("receipt_field", unknown.slice(0, 40), "a field of this name", "the fields of a receipt only");
  }
  for (const [name, kind] of Object.entries(SHAPES)) {
    if (kindOf(document[name]) !== kind) throw receiptRefused("receipt_field", name, kindOf(document[name]), kind);
  }
  if (!STOPS.includes(document["stop"] as string))
    throw receiptRefused("receipt_field", "stop", "another text", STOPS.join(" or "));
}

function requestIn(value: unknown): GenerationRequest {
  try {
    return readRequest(value);
  } catch (error) {
    if (!(error instanceof BrainProblem)) throw error;
    throw receiptRefused("receipt_field", `request ${error.subject}`, error.found, error.expected);
  }
}

function tokensIn(value: unknown): number[] {
  if (!Array.isArray(value)) throw receiptRefused("receipt_field", "tokens", kindOf(value), "an array of ids");
  if (value.length > TOKENS_MAX)
    throw receiptRefused("receipt_field", "tokens", `${value.length} ids`, `at most ${TOKENS_MAX}`);
  if (!value.every((token) => Number.isSafeInteger(token) && token >= 0)) {
    throw receiptRefused("receipt_field", "tokens", "an entry that is no id", "an array of ids");
  }
  return value as number[];
}
