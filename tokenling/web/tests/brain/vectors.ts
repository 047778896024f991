/* The committed vectors: tests/runtime/decode_vectors.json, made by tools/make_decode_vectors, and how to read them. */

import { readFileSync } from "node:fs";

import type { Json } from "../../src/contract.ts";
import type { DecodePlan } from "../../src/brain/plan.ts";
import type { TokenTable } from "../../src/brain/token_index.ts";

type Runs = (number | [number, number])[];

interface PlanJson {
  maxNew: number;
  sampling: [temperatureMilli: number, topK: number, topPMilli: number, seed: number];
  stops: string[];
  constraint: string[] | null;
  insertions: Record<string, number[]>;
  insertionsMax: number;
  ignoreEos: boolean;
}

export interface TurnVector {
  turn: number;
  table: string;
  plan: PlanJson;
  tokens: number[];
  text: string;
  stop: string;
  insertionsUsed: string[];
  nearTies: number[];
  choices: [step: number, sharesPpm: Record<string, number>][];
  feeds: number[];
  couldChoose: Record<string, Runs>;
}

export interface PlaceVector {
  way: number[];
  closing: number;
  costs: Record<string, Runs>;
  labels: Record<string, [label: string, closed: string[]]>;
}

interface Vectors {
  tables: Record<string, (string | null)[]>;
  masks: { table: string; tags: string[]; insertions: Record<string, number>; places: PlaceVector[] }[];
  turns: TurnVector[];
  texts: { pieces: string[]; stops: string[]; out: string[]; rest: string }[];
  fits: { header: string; lines: string[]; prefix: string; budget: number; ids: number[] | null }[];
  canonical: { value: Json; text: string; sha256: string }[];
}

interface SamplingVectors {
  draws: { seed: number; step: number; draw: string }[];
  cases: {
    logits: (number | null)[];
    temperatureMilli: number;
    topK: number;
    topPMilli: number;
    seed: number;
    step: number;
    token: number;
  }[];
}

function read<Shape>(name: string): Shape {
  return JSON.parse(readFileSync(new URL(`../../../../tests/runtime/${name}`, import.meta.url), "utf8")) as Shape;
}

export const VECTORS = read<Vectors>("decode_vectors.json");
export const SAMPLING = read<SamplingVectors>("sampling_vectors.json");

export function bytesOf(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

export function tableOf(name: string): TokenTable {
  return (VECTORS.tables[name] ?? []).map((hex) => (hex === null ? null : bytesOf(hex)));
}

/** `[[3, 5], 9]` as `[3, 4, 5, 9]`. */
export function unrun(runs: Runs): number[] {
  return runs.flatMap((run) => {
    if (typeof run === "number") return [run];
    return Array.from({ length: run[1] - run[0] + 1 }, (_, at) => run[0] + at);
  });
}

export function planOf({ sampling, insertions, ...plan }: PlanJson): DecodePlan {
  const [temperatureMilli, topK, topPMilli, seed] = sampling;
  return {
    ...plan,
    promptIds: [5],
    prefillChunk: 0,
    sampling: { temperatureMilli, topK, topPMilli, seed },
    insertions: new Map(Object.entries(insertions)),
  };
}

/** The generator's logit: a hash of turn, row and id, exact in float32. */
function logit(turn: number, row: number, token: number): number {
  let value = Math.imul(turn, 0x9e3779b1) ^ Math.imul(row, 0x85ebca77) ^ Math.imul(token, 0xc2b2ae3d);
  value = Math.imul(value ^ (value >>> 15), 0x2c1b3c6d);
  value = Math.imul(value ^ (value >>> 12), 0x297a2d39);
  value = (value ^ (value >>> 15)) >>> 0;
  const [spread, love] = [[1024, 128, 32][turn % 3] as number, [0, 6, 25][Math.floor(turn / 3) % 3] as number];
  return ((value % 4096) - 2048) / spread + ((value >>> 20) % 3 === 0 ? love : 0);
}

const ROWS = 8;
const OPENING_LOVE = 20;

/** The turn's rows of logits; step n sees row n modulo their number. */
export function rowsOf(turn: number, size: number, opening: readonly number[]): Float32Array[] {
  return Array.from({ length: ROWS }, (_, row) => {
    const logits = Float32Array.from({ length: size }, (_, token) => logit(turn, row, token));
    for (const token of opening) logits[token] = Math.fround((logits[token] as number) + OPENING_LOVE * (turn % 2));
    return logits;
  });
}
