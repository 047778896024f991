/* `config.json`, checked as `tokenling.runtime.config` does: the numbers that graph and tokenizer must agree with. */

import { brainRefused } from "./problem.ts";

export interface ModelConfig {
  modelType: string;
  layers: number;
  kvHeads: number;
  headDim: number;
  vocabulary: number;
  positionsMax: number;
  eosIds: readonly number[];
}

const MODEL_TYPES = ["gpt2", "gpt_neox", "llama"];
/** Bounds of the native twin, with its reasons. */
const [LAYERS_MAX, WIDTH_MAX, VOCABULARY_MAX, POSITIONS_MAX, EOS_IDS_MAX] = [512, 65_536, 2 ** 20, 2 ** 24, 64];

type Document = Record<string, unknown>;

/** The checked config. Throws a `BrainProblem` whose subject names the field. */
export function readConfig(document: Document): ModelConfig {
  const modelType = document["model_type"];
  if (typeof modelType !== "string" || !MODEL_TYPES.includes(modelType)) {
    throw brainRefused("model_type_unsupported", "config.json model_type", modelType, MODEL_TYPES.join(" or "));
  }
  const heads = aliased(document, WIDTH_MAX, "num_attention_heads", "n_head");
  const hidden = aliased(document, WIDTH_MAX, "hidden_size", "n_embd");
  const vocabulary = positive(document, "vocab_size", VOCABULARY_MAX);
  return {
    modelType,
    layers: aliased(document, LAYERS_MAX, "num_hidden_layers", "n_layer"),
    ...headShape(document, modelType === "llama", heads, hidden),
    vocabulary,
    positionsMax: aliased(document, POSITIONS_MAX, "max_position_embeddings", "n_positions"),
    eosIds: eosIds(document["eos_token_id"], vocabulary),
  };
}

/** The number that goes by either of two names: either is enough, both must agree. */
function aliased(document: Document, most: number, ...aliases: [string, string]): number {
  const given = aliases.filter((alias) => document[alias] !== null && document[alias] !== undefined);
  const values = given.map((alias) => positive(document, alias, most));
  const first = values[0];
  if (first === undefined) {
    throw brainRefused(
      "config_missing",
      `config.json ${aliases[0]}`,
      "nothing",
      `${aliases.join(" or ")}, a positive integer`,
    );
  }
  if (values.some((value) => value !== first)) {
    throw brainRefused("config_conflict", `config.json ${aliases.join(" and ")}`, values, "the same number");
  }
  return first;
}

function positive(document: Document, field: string, most: number): number {
  const value = document[field];
  if (typeof value !== "number" || !Number.isInteger(value) || value < 1 || value > most) {
    throw brainRefused("config_range", `config.json ${field}`, value, `an integer from 1 to ${most}`);
  }
  return value;
}

/** KV heads and head width. Only Llama may group its heads or have a width of its own. */
function headShape(
  document: Document,
  isLlama: boolean,
  heads: number,
  hidden: number,
): { kvHeads: number; headDim: number } {
  const has = (field: string) => document[field] !== null && document[field] !== undefined;
  if (!has("head_dim") && hidden % heads) {
    throw brainRefused("config_heads", "config.json hidden_size", hidden, `a multiple of the ${heads} heads`);
  }
  const headDim = has("head_dim") ? positive(document, "head_dim", WIDTH_MAX) : hidden / heads;
  if (!isLlama && headDim * heads !== hidden) {
    throw brainRefused("config_conflict", "config.json head_dim", headDim, `${hidden} / ${heads} heads`);
  }
  const grouped = isLlama && has("num_key_value_heads");
  const kvHeads = grouped ? positive(document, "num_key_value_heads", WIDTH_MAX) : heads;
  if (heads % kvHeads) {
    throw brainRefused("config_heads", "config.json num_key_value_heads", kvHeads, `a divisor of the ${heads} heads`);
  }
  return { kvHeads, headDim };
}

/** One end-of-sequence id or a list of them, each within the vocabulary. */
function eosIds(value: unknown, vocabulary: number): number[] {
  const found: unknown[] = Array.isArray(value) ? value : [value];
  const ids = found.filter((entry): entry is number => typeof entry === "number" && Number.isInteger(entry));
  if (
    found.length < 1 ||
    found.length > EOS_IDS_MAX ||
    ids.length !== found.length ||
    new Set(ids).size !== ids.length
  ) {
    throw brainRefused("eos_malformed", "config.json eos_token_id", value, "an integer or a list of different ones");
  }
  const outside = ids.find((id) => id < 0 || id >= vocabulary);
  if (outside !== undefined) {
    throw brainRefused("eos_range", "config.json eos_token_id", outside, `an id from 0 to ${vocabulary - 1}`);
  }
  return ids;
}
