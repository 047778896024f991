/* What to write next, given a row of logits: sampling, tags, lookups, stops. No ONNX Runtime here. */

import type { Choice, StopReason } from "../contract.ts";
import { byCodePoint } from "./canonical.ts";
import type { DecodePlan } from "./plan.ts";
import { choose, greatestId, weightOf } from "./sampling.ts";
import { OUTSIDE, type State, type TagMask, type TagMasks } from "./tags.ts";
import { TextStream } from "./text_stream.ts";
import { NEVER, type TokenIndex } from "./token_index.ts";

/** A greedy plan has no temperature; its branch points show the model's own shares. */
const SHARES_TEMPERATURE_MILLI = 1000;
const NO_BYTE = new Uint8Array();

/** One generation as it is written. `write` is called with each step's logits until it answers no ids. */
export class Writer {
  readonly tokenIds: number[] = [];
  readonly insertionsUsed: string[] = [];
  readonly choices: Choice[] = [];
  readonly nearTies: number[] = [];
  stop: StopReason | null = null;
  /** The masked logits that the last call chose from. */
  readonly legal: Float32Array;
  readonly #stream: TextStream;
  readonly #eos: ReadonlySet<number>;
  #mask: TagMask | null;
  #state: State = OUTSIDE;
  #left: number;

  constructor(
    private readonly plan: DecodePlan,
    private readonly index: TokenIndex,
    private readonly masks: TagMasks,
    eosIds: readonly number[],
  ) {
    this.legal = new Float32Array(index.size);
    this.#stream = new TextStream(plan.stops);
    this.#eos = new Set(plan.ignoreEos ? [] : eosIds);
    this.#left = plan.maxNew;
    this.#mask = plan.constraint && this.#maskOf(plan.insertionsMax > 0 ? plan.constraint : this.#withoutLookups());
  }

  /** The generated text that is whole, without inserted answers. */
  get text(): string {
    return this.#stream.text;
  }

  /** Chooses one token from `logits` (vocabulary,); the ids to run next, none when the generation is over. */
  write(logits: Float32Array): readonly number[] {
    this.#setLegal(logits);
    const [step, state] = [this.tokenIds.length, this.#state];
    const { token, nearTie } = choose(this.legal, this.plan.sampling, step);
    this.tokenIds.push(token);
    if (nearTie) this.nearTies.push(step);
    const closed = this.#advance(state, token);
    this.#left -= 1;
    this.#stream.push(this.index.bytesOf[token] ?? NO_BYTE);
    return this.#next(token, closed);
  }

  /** The generation ends here, by its caller's wish. */
  cancel(): void {
    this.#end("cancelled");
  }

  /** What runs behind `token`: itself and a lookup's answer, or nothing when a stop was met. */
  #next(token: number, closed: readonly string[]): readonly number[] {
    if (this.#eos.has(token)) return this.#end("eos");
    if (this.#stream.stopped) return this.#end("newline");
    const feed = [token, ...this.#insert(closed)];
    return this.#left > 0 ? feed : this.#end("length");
  }

  #end(stop: StopReason): readonly number[] {
    this.stop = stop;
    if (!this.#stream.stopped) this.#stream.finish();
    return [];
  }

  /** The answer behind a lookup tag; it counts against the budget, and the last one ends lookups. */
  #insert(closed: readonly string[]): readonly number[] {
    const asked = closed.find((name) => this.plan.insertions.has(name));
    if (asked === undefined) return [];
    const answer = this.plan.insertions.get(asked) ?? [];
    this.#left -= answer.length;
    this.insertionsUsed.push(asked);
    if (this.insertionsUsed.length >= this.plan.insertionsMax) this.#mask = this.#maskOf(this.#withoutLookups());
    return answer;
  }

  #withoutLookups(): string[] {
    return (this.plan.constraint ?? []).filter((tag) => !this.plan.insertions.has(tag));
  }

  #maskOf(tags: readonly string[]): TagMask {
    const lengths = [...this.plan.insertions].map(([tag, ids]) => [tag, ids.length] as const);
    return this.masks.of(tags, new Map(lengths));
  }

  /** The logits, with -Infinity for every token that may not be written now. */
  #setLegal(logits: Float32Array): void {
    const { legal } = this;
    legal.set(logits.subarray(0, legal.length));
    if (this.#mask === null) {
      for (const token of this.index.missing) legal[token] = -Infinity;
      return;
    }
    const allowed = this.#mask.legal(this.#state, Math.min(this.#left, NEVER) - 1);
    for (let token = 0; token < legal.length; token += 1) if (allowed[token] === 0) legal[token] = -Infinity;
  }

  /** Follows the tags over `token` and notes a branch point. The tags it closed. */
  #advance(state: State, token: number): readonly string[] {
    const mask = this.#mask;
    if (mask === null) return [];
    const walk = mask.walk(state, token);
    if (walk === null) throw new Error("the mask let an illegal token through");
    this.#state = walk.state;
    if (state !== OUTSIDE || walk.state !== OUTSIDE || walk.closed.length > 0) this.#noteChoice(mask, state);
    return walk.closed;
  }

  /** Records what the legal continuations weighed, when there was more than one. */
  #noteChoice(mask: TagMask, state: State): void {
    const { legal } = this;
    const temperature = this.plan.sampling.temperatureMilli || SHARES_TEMPERATURE_MILLI;
    const greatest = legal[greatestId(legal)] as number;
    const weights = Float64Array.from(legal, (logit) => weightOf(greatest, logit, temperature));
    const total = weights.reduce((sum, weight) => sum + weight, 0); // below 2^53: a vocabulary is at most 2^20
    const shares = new Map<string, number>();
    for (const token of state === OUTSIDE ? this.index.opening : weights.keys()) {
      const weight = weights[token] as number;
      const name = weight > 0 ? mask.label(state, token) : null;
      if (name !== null) shares.set(name, (shares.get(name) ?? 0) + weight);
    }
    if (state !== OUTSIDE && shares.size < 2) return;
    const ordered = [...shares].sort(([a], [b]) => byCodePoint(a, b));
    const sharesPpm = Object.fromEntries(ordered.map(([name, weight]) => [name, millionths(weight, total)]));
    this.choices.push({ step: this.tokenIds.length - 1, sharesPpm });
  }
}

/** Rounded down; exact, where a product of doubles would not be. */
function millionths(weight: number, total: number): number {
  return Number((BigInt(weight) * 1_000_000n) / BigInt(total));
}
