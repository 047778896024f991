/* What a brain, a request or a receipt must be: each breach with its code and its subject, as the runtime has them. */

import { readFileSync } from "node:fs";

import { describe, expect, it } from "vitest";

import { type ModelConfig, readConfig } from "../../src/brain/config.ts";
import { checkGraph, type TensorInfo } from "../../src/brain/graph.ts";
import { checkDigests, readManifest } from "../../src/brain/manifest.ts";
import { BrainProblem, brainRefused } from "../../src/brain/problem.ts";
import { readReceipt } from "../../src/brain/receipts.ts";
import { readRequest } from "../../src/brain/request.ts";
import { loadTokenizer } from "../../src/brain/tokenizer.ts";

function problemOf(work: () => unknown): [code: string, subject: string] | null {
  try {
    work();
    return null;
  } catch (error) {
    if (error instanceof BrainProblem) return [error.code, error.subject];
    throw error;
  }
}

const LLAMA = {
  model_type: "llama", num_hidden_layers: 1, num_attention_heads: 4, num_key_value_heads: 2, hidden_size: 32,
  vocab_size: 50, max_position_embeddings: 64, eos_token_id: 0,
};

describe("config.json", () => {
  it("is read in either exporter's names", () => {
    const expected: ModelConfig = {
      modelType: "llama",
      layers: 1,
      kvHeads: 2,
      headDim: 8,
      vocabulary: 50,
      positionsMax: 64,
      eosIds: [0],
    };
    expect(readConfig(LLAMA)).toEqual(expected);
    const gpt2 = {
      model_type: "gpt2",
      n_layer: 1,
      n_head: 4,
      n_embd: 32,
      vocab_size: 50,
      n_positions: 64,
      eos_token_id: [3, 0],
    };
    expect(readConfig(gpt2)).toEqual({ ...expected, modelType: "gpt2", kvHeads: 4, eosIds: [3, 0] });
    expect(readConfig({ ...LLAMA, head_dim: 16, n_layer: 1 })).toMatchObject({ headDim: 16 });
  });

  it.each<[Record<string, unknown>, string]>([
    [{ model_type: "bert" }, "model_type_unsupported"],
    [{ model_type: 7 }, "model_type_unsupported"],
    [{ num_hidden_layers: undefined }, "config_missing"],
    [{ num_hidden_layers: 0 }, "config_range"],
    [{ num_hidden_layers: 1.5 }, "config_range"],
    [{ num_hidden_layers: true }, "config_range"],
    [{ num_hidden_layers: 513 }, "config_range"],
    [{ n_layer: 2 }, "config_conflict"],
    [{ vocab_size: "50" }, "config_range"],
    [{ hidden_size: 33 }, "config_heads"],
    [{ num_key_value_heads: 3 }, "config_heads"],
    [{ model_type: "gpt_neox", head_dim: 16 }, "config_conflict"],
    [{ eos_token_id: null }, "eos_malformed"],
    [{ eos_token_id: [] }, "eos_malformed"],
    [{ eos_token_id: [1, 1] }, "eos_malformed"],
    [{ eos_token_id: [1, "2"] }, "eos_malformed"],
    [{ eos_token_id: 50 }, "eos_range"],
    [{ eos_token_id: -1 }, "eos_range"],
  ])("is refused with %j", (change, code) => {
    expect(problemOf(() => readConfig({ ...LLAMA, ...change }))?.[0]).toBe(code);
  });
});

const CACHE = [1, 2, "past", 8];
const ids: TensorInfo = { name: "input_ids", type: "int64", shape: ["batch", "sequence"] };
const logits: TensorInfo = { name: "logits", type: "float32", shape: ["batch", "sequence", 50] };
const cache = (name: string, shape: (number | string)[] = CACHE, type = "float32"): TensorInfo => ({
  name,
  type,
  shape,
});
const INS = [ids, cache("past_key_values.0.key"), cache("past_key_values.0.value")];
const OUTS = [logits, cache("present.0.key"), cache("present.0.value")];
const put = (infos: TensorInfo[], other: TensorInfo) => [...infos.filter((info) => info.name !== other.name), other];
const without = (infos: TensorInfo[], name: string) => infos.filter((info) => info.name !== name);

describe("a graph", () => {
  const config = readConfig(LLAMA);

  it("may have each input of the contract, and names its caches in either way", () => {
    const more = [
      { name: "attention_mask", type: "int32", shape: [1, "total"] },
      { name: "cache_position", type: "int64", shape: ["sequence"] },
    ];
    const outs = [logits, cache("present_key_values.0.key"), cache("present_key_values.0.value")];
    const layout = checkGraph([...INS, ...more], outs, config);
    expect(layout.inputs.map(({ name, element, rank }) => [name, element, rank])).toEqual([
      ["input_ids", "int64", 2],
      ["attention_mask", "int32", 2],
      ["cache_position", "int64", 1],
    ]);
    expect(layout.caches.map((pair) => pair.present)).toEqual([
      "present_key_values.0.key",
      "present_key_values.0.value",
    ]);
  });

  it.each<[string, string, TensorInfo[], TensorInfo[]]>([
    ["input_missing", "input_ids", without(INS, "input_ids"), OUTS],
    ["input_type", "input_ids", put(INS, { ...ids, type: "float32" }), OUTS],
    ["input_rank", "input_ids", put(INS, { ...ids, shape: ["sequence"] }), OUTS],
    ["input_sequence", "input_ids", put(INS, { ...ids, shape: [1, 8] }), OUTS],
    ["batch_fixed", "input_ids", put(INS, { ...ids, shape: [2, "sequence"] }), OUTS],
    ["input_unknown", "speaker", [...INS, { ...ids, name: "speaker" }], OUTS],
    ["output_missing", "logits", INS, without(OUTS, "logits")],
    ["output_unknown", "hidden", INS, [...OUTS, { ...logits, name: "hidden" }]],
    ["logits_type", "logits", INS, put(OUTS, { ...logits, type: "float16" })],
    ["logits_rank", "logits", INS, put(OUTS, { ...logits, shape: ["sequence", 50] })],
    ["logits_sequence", "logits", INS, put(OUTS, { ...logits, shape: [1, 8, 50] })],
    ["logits_vocabulary", "logits", INS, put(OUTS, { ...logits, shape: [1, "sequence", 51] })],
    ["cache_missing", "past_key_values.0.key", without(INS, "past_key_values.0.key"), OUTS],
    ["cache_unmatched", "present.0.key", INS, without(OUTS, "present.0.key")],
    ["cache_unmatched", "present.0.key", INS, [...OUTS, cache("present_key_values.0.key")]],
    ["cache_type", "past_key_values.0.key", put(INS, cache("past_key_values.0.key", CACHE, "int8")), OUTS],
    ["cache_type_changed", "present.0.key", INS, put(OUTS, cache("present.0.key", CACHE, "float16"))],
    ["cache_rank", "present.0.value", INS, put(OUTS, cache("present.0.value", [1, "past", 16]))],
    ["cache_axes_dynamic", "present.0.value", INS, put(OUTS, cache("present.0.value", [1, "heads", "past", 8]))],
    ["cache_sequence", "present.0.value", INS, put(OUTS, cache("present.0.value", [1, 2, 64, 8]))],
    ["cache_shape", "past_key_values.0.value", put(INS, cache("past_key_values.0.value", [1, 4, "past", 8])), OUTS],
    ["batch_fixed", "past_key_values.0.value", put(INS, cache("past_key_values.0.value", [3, 2, "past", 8])), OUTS],
  ])("is refused: %s of %s", (code, subject, ins, outs) => {
    expect(problemOf(() => checkGraph(ins, outs, config))).toEqual([code, subject]);
  });
});

/** A tokenizer of whole bytes, one merge, one special and one plain added token. */
function tokenizer(
  change: Record<string, unknown> = {},
  vocab: Record<string, number> = { a: 0, b: 1, ab: 2, Ġ: 3, "[": 4, "]": 5, end: 6, e: 7, n: 8, d: 9 },
) {
  const byteLevel = { type: "ByteLevel", add_prefix_space: false, use_regex: false };
  const added = { single_word: false, lstrip: false, rstrip: false, normalized: false };
  return {
    version: "1.0",
    normalizer: null,
    pre_tokenizer: { type: "Sequence", pretokenizers: [byteLevel] },
    post_processor: {
      type: "TemplateProcessing",
      single: [{ SpecialToken: { id: "[end]", type_id: 0 } }],
      pair: [],
      special_tokens: {},
    },
    decoder: byteLevel,
    model: { type: "BPE", vocab, merges: ["a b"] },
    added_tokens: [
      { id: 10, content: "[end]", special: true, ...added },
      { id: 12, content: "<hi>", special: false, ...added },
    ],
    ...change,
  };
}

describe("tokenizer.json", () => {
  it("tells each id's bytes, and reads no special token out of text", () => {
    const { table, encode } = ((one) => ({ table: one.table, encode: (text: string) => one.encode(text) }))(
      loadTokenizer(tokenizer(), 20),
    );
    const written = table.map((bytes) => (bytes === null ? null : new TextDecoder().decode(bytes)));
    expect(written).toEqual(["a", "b", "ab", " ", "[", "]", "end", "e", "n", "d", "", null, "<hi>"]);
    expect(encode("ab [end]<hi>")).toEqual([2, 3, 4, 7, 8, 9, 5, 12]);
    expect(encode("")).toEqual([]);
  });

  it.each<[string, string, Record<string, unknown>, Record<string, number> | undefined]>([
    ["tokenizer_kind", "tokenizer.json pre_tokenizer", { pre_tokenizer: { type: "Metaspace" } }, undefined],
    ["tokenizer_kind", "tokenizer.json decoder", { decoder: null }, undefined],
    ["tokenizer_empty", "tokenizer.json vocab", { added_tokens: [] }, {}],
    ["tokenizer_range", "tokenizer.json vocab", {}, { a: 20 }],
    ["tokenizer_token", "tokenizer.json vocab", {}, { "a b": 0 }],
    ["tokenizer_unreadable", "tokenizer.json", { model: { type: "BPE", vocab: { a: 0 } } }, undefined],
  ])("is refused: %s of %s", (code, subject, change, vocab) => {
    expect(problemOf(() => loadTokenizer(tokenizer(change, vocab), 20))).toEqual([code, subject]);
  });
});

describe("brain.json", () => {
  const digest = "0".repeat(64);
  const whole = { id: "b", features: ["tags"], promptVersion: 1, files: { "config.json": digest } };

  it("names the brain; a foreign export has none and is known by the site's list", () => {
    expect(readManifest(whole, "b")).toEqual(whole);
    expect(readManifest(null, "foreign")).toEqual({ id: "foreign", features: [], promptVersion: 0, files: {} });
    expect(checkDigests(readManifest(null, "foreign"), { x: digest })).toBeUndefined();
  });

  it.each<[string, Record<string, unknown>]>([
    ["id_mismatch", { id: "c" }],
    ["manifest_field", { features: "tags" }],
    ["manifest_field", { features: new Array(65).fill("x") }],
    ["manifest_field", { promptVersion: "1" }],
    ["manifest_field", { files: [] }],
    ["manifest_field", { files: { "config.json": digest.toUpperCase().replaceAll("0", "A") } }],
  ])("is refused: %s", (code, change) => {
    expect(problemOf(() => readManifest({ ...whole, ...change }, "b"))?.[0]).toBe(code);
  });

  it("must list each file with the digest that it has", () => {
    const manifest = readManifest(whole, "b");
    expect(problemOf(() => checkDigests(manifest, { "config.json": "1".repeat(64) }))).toEqual([
      "file_changed",
      "config.json",
    ]);
    expect(problemOf(() => checkDigests(manifest, { "tokenizer.json": digest }))?.[0]).toBe("file_unlisted");
  });
});

const REQUEST = {
  header: "You are Pip.", lines: ["Owner: hi"], prefix: "Pip:", mode: "line", tags: ["[eat]"], answers: {},
  maxNew: 8, topK: 40, temperatureMilli: 850, topPMilli: 920, ctx: 1024, seed: 1,
};

describe("a request", () => {
  it("is read as it is", () => expect(readRequest(REQUEST)).toEqual(REQUEST));

  it.each<[string, unknown]>([
    ["header", null],
    ["header", "a\ud800"],
    ["header", "x".repeat(2 ** 20 + 1)],
    ["lines", "no list"],
    ["lines", [1]],
    ["lines", new Array(10_001).fill("")],
    ["prefix", 7],
    ["mode", "song"],
    ["tags", undefined],
    ["answers", []],
    ["answers", { "[look]": 1 }],
    ["maxNew", 0],
    ["maxNew", 1025],
    ["topK", -1],
    ["temperatureMilli", 0.5],
    ["topPMilli", 1001],
    ["ctx", "1024"],
    ["seed", 2 ** 53],
    ["seed", NaN],
  ])("is refused by its field %s, never by its words", (field, value) => {
    const refused = () => readRequest({ ...REQUEST, [field]: value });
    expect(problemOf(refused)).toEqual(["field_malformed", field]);
    if (typeof value === "string" && value.length > 4)
      expect(refused).toThrow(expect.not.objectContaining({ message: expect.stringContaining(value) }));
  });

  it("counts code points as the engine does", () => {
    const longest = "🙂".repeat(2 ** 20);
    expect(problemOf(() => readRequest({ ...REQUEST, prefix: longest }))).toBeNull();
    expect(problemOf(() => readRequest({ ...REQUEST, prefix: `${longest}a` }))).toEqual(["field_malformed", "prefix"]);
  });

  it("is no list, no text, and has no field of its own", () => {
    for (const value of [null, [], "x", 7]) expect(problemOf(() => readRequest(value))?.[0]).toBe("request_malformed");
    expect(problemOf(() => readRequest({ ...REQUEST, prompt: "x" }))).toEqual(["field_unknown", "prompt"]);
  });
});

describe("a receipt", () => {
  it("is refused when it is none", () => {
    for (const value of [null, [], "x", 7]) expect(problemOf(() => readReceipt(value))?.[0]).toBe("receipt_malformed");
    expect(problemOf(() => readReceipt({}))).toEqual(["receipt_version", "receiptVersion"]);
    expect(problemOf(() => readReceipt({ receiptVersion: 1 }))?.[0]).toBe("receipt_public");
    expect(problemOf(() => readReceipt({ receiptVersion: 1, request: REQUEST, tokens: [] }))?.[0]).toBe(
      "receipt_field",
    );
  });
});

describe("a problem", () => {
  it("quotes what it found on one bounded line", () => {
    expect(brainRefused("c", "s", "a\nb\u2028c\u0000", "e").found).toBe("a b c ");
    expect(brainRefused("c", "s", "x".repeat(900), "e").found).toBe(`${"x".repeat(200)}…`);
    expect(brainRefused("c", "s", undefined, "e").found).toBe("nothing");
    expect(brainRefused("c", "s", NaN, "e").message).toBe("s: found NaN, expected e (c)");
  });

  it("has a code that docs/runtime.md or docs/page_brain.md explains", () => {
    const page = ["runtime.md", "page_brain.md"]
      .map((name) => readFileSync(new URL(`../../../../docs/${name}`, import.meta.url), "utf8"))
      .join("\n");
    const sources = [
      "client",
      "config",
      "decode",
      "files",
      "graph",
      "manifest",
      "open",
      "plan",
      "receipts",
      "request",
      "sampling",
      "site_brain",
      "steps",
      "tags",
      "tokenizer",
      "worker",
    ];
    const codes = sources.flatMap((name) => {
      const text = readFileSync(new URL(`../../src/brain/${name}.ts`, import.meta.url), "utf8");
      return [...text.matchAll(/(?:Refused|Failed|lost)\(\s*"([a-z_0-9]+)"/g)].map((found) => found[1] as string);
    });
    expect(new Set(codes).size).toBeGreaterThan(40);
    expect([...new Set(codes)].filter((code) => !page.includes(`\`${code}\``))).toEqual([]);
  });
});
