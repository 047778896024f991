/* A brain, opened in this worker: every file checked before it is used, the graph's contract before anything runs, and
   two real tokens before anyone is told that it is there. */

import * as ort from "onnxruntime-web/wasm";

import type { BrainInfo } from "../contract.ts";
import { type ModelConfig, readConfig } from "./config.ts";
import { Lane } from "./decode.ts";
import { type Bytes, fetchFiles, objectIn } from "./files.ts";
import { checkGraph, type TensorInfo } from "./graph.ts";
import { checkDigests, readManifest } from "./manifest.ts";
import { BrainProblem, brainRefused } from "./problem.ts";
import { type Model, Steps } from "./steps.ts";
import { TokenIndex } from "./token_index.ts";
import { loadTokenizer, type Tokenizer } from "./tokenizer.ts";
import type { Bench } from "./verify.ts";
import type { OpenMessage } from "./wire.ts";

/** The file of each precision: exactly this one, never another in its stead. */
const GRAPH_FILES: Readonly<Record<string, string>> = {
  q4: "onnx/model_q4.onnx",
  q8: "onnx/model_quantized.onnx",
  fp32: "onnx/model.onnx",
};
const WASM = "ONNX Runtime";
const [MANIFEST, CONFIG, TOKENIZER] = ["brain.json", "config.json", "tokenizer.json"];

export interface OpenBrain extends Bench {
  info: BrainInfo;
  tokenizer: Tokenizer;
}

/** The brain that a site serves. Throws a `BrainProblem`. */
export async function openHere(message: OpenMessage, onBytes: (count: number) => void): Promise<OpenBrain> {
  const { id, precision, files } = message.brain;
  const graphFile = GRAPH_FILES[precision];
  if (graphFile === undefined)
    throw brainRefused("precision_unknown", "precision", precision, Object.keys(GRAPH_FILES).join(" or "));
  const found = await fetchFiles({ ...files, [WASM]: message.ort.wasm }, onBytes);
  const digests = Object.fromEntries(usedFiles(found).map((name) => [name, files[name]?.sha256 ?? ""]));
  const listed = found.get(MANIFEST);
  const manifest = readManifest(listed ? objectIn(listed, MANIFEST) : null, id);
  checkDigests(manifest, digests);
  const config = readConfig(objectIn(needed(found, CONFIG), CONFIG));
  const tokenizer = loadTokenizer(objectIn(needed(found, TOKENIZER), TOKENIZER), config.vocabulary);
  startRuntime(message, needed(found, WASM));
  const model = await openModel(needed(found, graphFile), outerData(found, graphFile), config, graphFile);
  await warmUp(model);
  return {
    info: { id, features: [...manifest.features], promptVersion: manifest.promptVersion, precision, files: digests },
    lane: new Lane(model, new TokenIndex(tokenizer.table)),
    tokenizer,
    encoder: tokenizer,
    identity: { brainId: id, files: digests, precision },
    ortVersion: ort.env.versions.web ?? "",
  };
}

function needed(found: ReadonlyMap<string, Bytes>, name: string): Bytes {
  const bytes = found.get(name);
  if (!bytes) throw brainRefused("file_missing", name, "no file", "a file that the site lists");
  return bytes;
}

/** What a receipt names: every file of the brain but the manifest, which names them itself. */
function usedFiles(found: ReadonlyMap<string, Bytes>): string[] {
  return [...found.keys()].filter((name) => name !== MANIFEST && name !== WASM);
}

/** Tensor data that lies beside the graph, by the name that the graph has for it. */
function outerData(found: ReadonlyMap<string, Bytes>, graphFile: string): { path: string; data: Bytes }[] {
  const folder = graphFile.slice(0, graphFile.lastIndexOf("/") + 1);
  const others = usedFiles(found).filter((name) => ![CONFIG, TOKENIZER, graphFile].includes(name));
  return others.map((name) => ({
    path: name.startsWith(folder) ? name.slice(folder.length) : name,
    data: needed(found, name),
  }));
}

function startRuntime({ ort: files }: OpenMessage, wasm: Bytes): void {
  ort.env.logLevel = "error";
  // one thread: more need isolation headers that a static site may not have, and were slower on two cores
  Object.assign(ort.env.wasm, { numThreads: 1, proxy: false, wasmBinary: wasm.buffer });
  ort.env.wasm.wasmPaths = { mjs: files.module, wasm: files.wasm.url };
}

/** ORT's options for the numbers that a host computes in `exact`: quantised weights unfold to floats at load. */
const OPTIONS: ort.InferenceSession.SessionOptions = {
  executionProviders: ["wasm"],
  executionMode: "sequential",
  // a plan is kept for every shape seen, and every step of every prompt length is another shape
  enableMemPattern: false,
  logSeverityLevel: 3,
  extra: { session: { disable_quant_qdq: "1" } },
};

async function openModel(
  graph: Bytes,
  externalData: { path: string; data: Bytes }[],
  config: ModelConfig,
  subject: string,
): Promise<Model> {
  let session: ort.InferenceSession;
  try {
    session = await ort.InferenceSession.create(graph, { ...OPTIONS, externalData });
  } catch (error) {
    if (isCrash(error)) throw error;
    throw brainRefused("graph_unloadable", subject, messageOf(error), "a graph that ONNX Runtime loads");
  }
  delete ort.env.wasm.wasmBinary; // instantiated: 14 MB that nobody reads again
  const layout = checkGraph(infos(session.inputMetadata), infos(session.outputMetadata), config);
  return { session, layout, config, Tensor: ort.Tensor };
}

function infos(found: readonly ort.InferenceSession.ValueMetadata[]): TensorInfo[] {
  return found.map((info) => (info.isTensor ? info : { name: info.name, type: "no tensor", shape: [] }));
}

/** Runs a real token and one more behind it: proves prefill, cache growth, logits. */
async function warmUp(model: Model): Promise<void> {
  const steps = new Steps(model);
  const token = model.config.eosIds[0] ?? 0;
  try {
    for (let round = 0; round < 2; round += 1) {
      const logits = await steps.step([token]);
      if (!logits.every(Number.isFinite))
        throw brainRefused("warm_up_failed", "logits", "a number that is not finite", "finite logits");
    }
  } catch (error) {
    if (isCrash(error) || (error instanceof BrainProblem && error.kind === "brain")) throw error;
    throw brainRefused("warm_up_failed", "the first step", messageOf(error), "a step that runs");
  } finally {
    steps.dispose();
  }
}

/** Whether WebAssembly itself gave up: nothing of this worker can be trusted any more. */
export function isCrash(error: unknown): boolean {
  return error instanceof WebAssembly.RuntimeError || error instanceof RangeError;
}

/** What ONNX Runtime says: names and shapes of tensors, never their values. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : "an error";
}
