/* The graph contract of docs/runtime.md, checked on names, types and shapes before anything runs: the twin of
   `tokenling.runtime.graph`. */

import type { ModelConfig } from "./config.ts";
import { brainRefused } from "./problem.ts";

/** A graph's input or output as onnxruntime-web names it: a symbolic axis is a text. */
export interface TensorInfo {
  name: string;
  type: string;
  shape: readonly (number | string)[];
}

export type IntegerType = "int32" | "int64";
export type CacheType = "float16" | "float32" | "float64";

export interface TokenInput {
  name: string;
  element: IntegerType;
  rank: number;
}

export interface CachePair {
  past: string;
  present: string;
  element: CacheType;
}

/** What a step binds: the integer inputs, and the caches layer by layer, key before value. */
export interface GraphLayout {
  inputs: readonly TokenInput[];
  caches: readonly CachePair[];
}

/** The integer inputs and the ranks each may have. */
const TOKEN_INPUTS: Record<string, readonly number[]> = {
  input_ids: [2],
  attention_mask: [2],
  position_ids: [2],
  token_type_ids: [2],
  cache_position: [1, 2],
};

type Infos = ReadonlyMap<string, TensorInfo>;

/** The layout of a graph that keeps the contract. Throws a `BrainProblem` that names the tensor. */
export function checkGraph(
  inputs: readonly TensorInfo[],
  outputs: readonly TensorInfo[],
  config: ModelConfig,
): GraphLayout {
  const [ins, outs] = [named(inputs), named(outputs)];
  if (!ins.has("input_ids")) {
    throw brainRefused("input_missing", "input_ids", "no such input", "an input of rank 2, int32 or int64");
  }
  const tokenInputs = Object.keys(TOKEN_INPUTS).flatMap((name) => {
    const info = ins.get(name);
    return info ? [tokenInput(info)] : [];
  });
  checkLogits(outs.get("logits"), config.vocabulary);
  const caches = cacheNames(config.layers).map((name) => cachePair(ins, outs, name, config));
  checkNothingElse("input", ins, [...Object.keys(TOKEN_INPUTS), ...caches.map((pair) => pair.past)]);
  checkNothingElse("output", outs, ["logits", ...caches.map((pair) => pair.present)]);
  return { inputs: tokenInputs, caches };
}

function named(infos: readonly TensorInfo[]): Infos {
  return new Map(infos.map((info) => [info.name, info]));
}

function cacheNames(layers: number): string[] {
  return Array.from({ length: layers }, (_, layer) => [`${layer}.key`, `${layer}.value`]).flat();
}

/** An integer input with a dynamic sequence axis. */
function tokenInput({ name, type, shape }: TensorInfo): TokenInput {
  if (type !== "int32" && type !== "int64") throw brainRefused("input_type", name, type, "int32 or int64");
  const ranks = TOKEN_INPUTS[name] ?? [];
  if (!ranks.includes(shape.length)) throw brainRefused("input_rank", name, shape, `rank ${ranks.join(" or ")}`);
  if (typeof shape[shape.length - 1] === "number")
    throw brainRefused("input_sequence", name, shape, "a dynamic last axis");
  if (shape.length === 2) checkBatch(name, shape);
  return { name, element: type, rank: shape.length };
}

function checkBatch(name: string, shape: TensorInfo["shape"]): void {
  if (typeof shape[0] === "number" && shape[0] !== 1) {
    throw brainRefused("batch_fixed", name, shape, "a first axis of 1 or a symbolic one");
  }
}

function checkLogits(info: TensorInfo | undefined, vocabulary: number): void {
  if (!info) throw brainRefused("output_missing", "logits", "no such output", "an output of rank 3, float32");
  const { type, shape } = info;
  if (type !== "float32") throw brainRefused("logits_type", "logits", type, "float32");
  if (shape.length !== 3) throw brainRefused("logits_rank", "logits", shape, "rank 3: (1, sequence, vocabulary)");
  checkBatch("logits", shape);
  if (typeof shape[1] === "number" && shape[1] !== 1) {
    throw brainRefused("logits_sequence", "logits", shape, "a dynamic middle axis, or 1 for the last token only");
  }
  if (typeof shape[2] === "number" && shape[2] !== vocabulary) {
    throw brainRefused("logits_vocabulary", "logits", shape, `a last axis of vocab_size ${vocabulary}`);
  }
}

/** The past `name` and its one present. */
function cachePair(ins: Infos, outs: Infos, name: string, config: ModelConfig): CachePair {
  const past = ins.get(`past_key_values.${name}`);
  if (!past)
    throw brainRefused(
      "cache_missing",
      `past_key_values.${name}`,
      "no such input",
      `${config.layers} layers of caches`,
    );
  const presents = [`present.${name}`, `present_key_values.${name}`].flatMap((full) => outs.get(full) ?? []);
  const present = presents[0];
  if (!present || presents.length > 1) {
    const found = present ? "both present and present_key_values" : "no such output";
    throw brainRefused("cache_unmatched", `present.${name}`, found, "exactly one present output for each past");
  }
  const element = cacheType(past, config);
  cacheType(present, config);
  if (past.type !== present.type)
    throw brainRefused("cache_type_changed", present.name, present.type, `${past.type}, as its past`);
  return { past: past.name, present: present.name, element };
}

/** The element type of a cache of rank four, heads and width fixed, one dynamic axis between them. */
function cacheType({ name, type, shape }: TensorInfo, { kvHeads, headDim }: ModelConfig): CacheType {
  const expected = `(1, ${kvHeads}, a dynamic sequence axis, ${headDim})`;
  if (type !== "float16" && type !== "float32" && type !== "float64") {
    throw brainRefused("cache_type", name, type, "float16, float32 or float64");
  }
  if (shape.length !== 4) throw brainRefused("cache_rank", name, shape, expected);
  checkBatch(name, shape);
  if (typeof shape[1] !== "number" || typeof shape[3] !== "number")
    throw brainRefused("cache_axes_dynamic", name, shape, expected);
  if (typeof shape[2] === "number") throw brainRefused("cache_sequence", name, shape, expected);
  if (shape[1] !== kvHeads || shape[3] !== headDim) throw brainRefused("cache_shape", name, shape, expected);
  return type;
}

function checkNothingElse(kind: "input" | "output", found: Infos, known: readonly string[]): void {
  const other = [...found.values()]
    .filter((info) => !known.includes(info.name))
    .sort((a, b) => (a.name < b.name ? -1 : 1))[0];
  if (other)
    throw brainRefused(
      `${kind}_unknown`,
      other.name,
      `an ${kind} of shape ${JSON.stringify(other.shape)}`,
      "no such tensor",
    );
}
