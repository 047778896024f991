/* The steps of one generation over an ORT session: a cache's output becomes the next step's input. */

import type { InferenceSession, Tensor, TensorConstructor } from "onnxruntime-web/wasm";

import type { ModelConfig } from "./config.ts";
import type { CachePair, GraphLayout, IntegerType } from "./graph.ts";
import { turnFailed } from "./problem.ts";

/** A checked graph and how to make its tensors. */
export interface Model {
  readonly session: InferenceSession;
  readonly layout: GraphLayout;
  readonly config: ModelConfig;
  readonly Tensor: TensorConstructor;
}

/** One sequence from an empty cache on; `dispose` it when its generation ends. */
export class Steps {
  #tokens = 0; // in the caches
  #pasts: Tensor[];

  constructor(private readonly model: Model) {
    this.#pasts = model.layout.caches.map((pair) => emptyCache(model, pair));
  }

  /** Runs a prompt, at most `chunk` tokens a step (0 for all at once); the last token's logits. */
  async prefill(ids: readonly number[], chunk: number): Promise<Float32Array> {
    const size = chunk || ids.length;
    for (let at = 0; at + size < ids.length; at += size) await this.step(ids.slice(at, at + size));
    return this.step(ids.slice(Math.floor((ids.length - 1) / size) * size));
  }

  /** Runs `ids` behind what the caches hold; the last one's logits (vocabulary,). Throws a `BrainProblem` when the
      graph breaks its promise; whatever ONNX Runtime throws passes. */
  async step(ids: readonly number[]): Promise<Float32Array> {
    const { session, layout } = this.model;
    const feeds: Record<string, Tensor> = this.#tokenTensors(ids);
    layout.caches.forEach((pair, at) => (feeds[pair.past] = this.#pasts[at] as Tensor));
    const found = await session.run(feeds, ["logits", ...layout.caches.map((pair) => pair.present)]);
    this.#tokens += ids.length;
    this.dispose();
    this.#pasts = layout.caches.map((pair) => found[pair.present] as Tensor);
    this.#checkCaches();
    return this.#lastRow(found["logits"] as Tensor, ids.length);
  }

  dispose(): void {
    for (const past of this.#pasts) past.dispose();
    this.#pasts = [];
  }

  /** The integer inputs of this step. Token types stay 0, nothing is masked. */
  #tokenTensors(ids: readonly number[]): Record<string, Tensor> {
    const positions = ids.map((_, at) => this.#tokens + at);
    const values: Record<string, readonly number[]> = {
      input_ids: ids,
      position_ids: positions,
      cache_position: positions,
      token_type_ids: ids.map(() => 0),
      attention_mask: new Array<number>(this.#tokens + ids.length).fill(1),
    };
    const tensors = this.model.layout.inputs.map(({ name, element, rank }) => {
      const numbers = values[name] ?? [];
      return [
        name,
        integers(this.model.Tensor, element, numbers, rank === 2 ? [1, numbers.length] : [numbers.length]),
      ] as const;
    });
    return Object.fromEntries(tensors);
  }

  /** Each cache must have grown by exactly what this step ran. */
  #checkCaches(): void {
    const { layout, config } = this.model;
    const grown = [1, config.kvHeads, this.#tokens, config.headDim];
    for (const [at, pair] of layout.caches.entries()) {
      const { dims } = this.#pasts[at] as Tensor;
      if (String(dims) !== String(grown)) throw turnFailed("cache_growth", pair.present, dims, JSON.stringify(grown));
    }
  }

  /** The last token's logits out of those of the step. */
  #lastRow(logits: Tensor, length: number): Float32Array {
    const { vocabulary } = this.model.config;
    const [batch, rows, columns] = logits.dims;
    if (logits.dims.length !== 3 || batch !== 1 || (rows !== length && rows !== 1) || columns !== vocabulary) {
      throw turnFailed("logits_shape", "logits", logits.dims, `[1,${length},${vocabulary}] or [1,1,${vocabulary}]`);
    }
    return (logits.data as Float32Array).subarray((rows - 1) * vocabulary);
  }
}

function integers(Of: TensorConstructor, element: IntegerType, numbers: readonly number[], dims: number[]): Tensor {
  if (element === "int32") return new Of("int32", Int32Array.from(numbers), dims);
  return new Of("int64", BigInt64Array.from(numbers, BigInt), dims);
}

function emptyCache({ config, Tensor: Of }: Model, { element }: CachePair): Tensor {
  const dims = [1, config.kvHeads, 0, config.headDim];
  if (element === "float32") return new Of("float32", new Float32Array(), dims);
  if (element === "float64") return new Of("float64", new Float64Array(), dims);
  return new Of("float16", new Uint16Array(), dims);
}
