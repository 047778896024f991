/* One token out of one row of logits, bit-equal with `tokenling.runtime.sampling` for equal logits: docs/sampling.md is
   the description of both. Per token: one pass over the vocabulary in typed arrays, one 64-bit product. */

import { EXP2_TABLE } from "./exp2_table.ts";
import { turnFailed } from "./problem.ts";

/** `temperatureMilli` 0 is greedy; `seed` is below 2^53. */
export interface Sampling {
  temperatureMilli: number;
  topK: number;
  topPMilli: number;
  seed: number;
}

/** `nearTie`: a logit change of `NEAR_TIE_LOGIT` could have chosen a neighbour. */
export interface Draw {
  token: number;
  nearTie: boolean;
}

/** log2(e) * 2^30 to the nearest integer: nats to octaves. With d <= 2^21 the product stays below 2^53. */
const LOG2E_Q30 = 1_549_082_005;
/** 32 nats in units of 1/65536: beyond it a weight is 0. */
const D_MAX = 2 ** 21;
/** The logit change that a near tie allows for: 100 times the distance measured between native and web runs. */
export const NEAR_TIE_LOGIT = 1e-3;
/** Below this many kept tokens insertion beats a sort. */
const INSERT_MOST = 256;
/** Sums below it stay exact when multiplied by 1000. */
const EXACT_THOUSANDFOLD = 2 ** 43;

/** The high and low words of a product of two 32-bit words. */
function multiply(a: number, b: number): [high: number, low: number] {
  const [a1, a0, b1, b0] = [a >>> 16, a & 0xffff, b >>> 16, b & 0xffff];
  const middle = a1 * b0 + ((a0 * b0) >>> 16);
  const rest = a0 * b1 + (middle & 0xffff);
  return [a1 * b1 + (middle >>> 16) + (rest >>> 16), Math.imul(a, b) >>> 0];
}

/** Philox4x32-10 (Salmon et al., 2011) at counter (step, 0, 0, 0): its first two words as one 64-bit number. */
export function draw64(seed: number, step: number): bigint {
  let [c0, c1, c2, c3] = [step, 0, 0, 0];
  let [k0, k1] = [seed % 2 ** 32, Math.floor(seed / 2 ** 32)];
  for (let round = 0; round < 10; round += 1) {
    const [leftHigh, leftLow] = multiply(0xd2511f53, c0);
    const [rightHigh, rightLow] = multiply(0xcd9e8d57, c2);
    [c0, c1, c2, c3] = [(rightHigh ^ c1 ^ k0) >>> 0, rightLow, (leftHigh ^ c3 ^ k1) >>> 0, leftLow];
    [k0, k1] = [(k0 + 0x9e3779b9) >>> 0, (k1 + 0xbb67ae85) >>> 0];
  }
  return (BigInt(c0) << 32n) | BigInt(c1);
}

/** The integer weight of a logit against the greatest one, which weighs 2^32. */
export function weightOf(greatest: number, logit: number, temperatureMilli: number): number {
  const d = Math.min(Math.floor(((greatest - logit) * 65536 * 1000) / temperatureMilli), D_MAX);
  const x = Math.floor((d * LOG2E_Q30 + 2 ** 35) / 2 ** 36);
  return Math.floor((EXP2_TABLE[x & 1023] as number) / 2 ** (x >> 10));
}

/** The first id of the greatest logit. Throws when that is not finite, a NaN among the logits included. */
export function greatestId(logits: Float32Array): number {
  let best = 0;
  for (let id = 0; id < logits.length; id += 1) {
    const value = logits[id] as number;
    if (value > (logits[best] as number)) best = id;
    if (value !== value) throw turnFailed("logits_not_finite", "logits", value, "a finite greatest logit");
  }
  if (!Number.isFinite(logits[best])) {
    throw turnFailed("logits_not_finite", "logits", logits[best] ?? "no logit", "a finite greatest logit");
  }
  return best;
}

/** The ids of the `topK` greatest logits (0 for all), greatest first, ties by the lower id. */
export function topIds(logits: Float32Array, topK: number): Uint32Array {
  const count = topK > 0 ? Math.min(topK, logits.length) : logits.length;
  if (count > INSERT_MOST) {
    const order = Uint32Array.from(logits.keys());
    return order.sort((a, b) => (logits[b] as number) - (logits[a] as number) || a - b).subarray(0, count);
  }
  const ids = new Uint32Array(count);
  let filled = 0;
  for (let id = 0; id < logits.length; id += 1) {
    const value = logits[id] as number;
    if (filled === count && value <= (logits[ids[count - 1] as number] as number)) continue;
    let at = filled < count ? filled++ : count - 1;
    for (; at > 0 && value > (logits[ids[at - 1] as number] as number); at -= 1) ids[at] = ids[at - 1] as number;
    ids[at] = id;
  }
  return ids;
}

/** The token of this step. Illegal ids hold -Infinity. */
export function choose(logits: Float32Array, sampling: Sampling, step: number): Draw {
  const best = greatestId(logits);
  const greatest = logits[best] as number;
  if (sampling.temperatureMilli === 0)
    return { token: best, nearTie: greatest - runnerUp(logits, best) <= 2 * NEAR_TIE_LOGIT };
  const ids = topIds(logits, sampling.topK);
  const sums = runningWeights(logits, ids, greatest, sampling.temperatureMilli);
  const total = sums[kept(sums, sampling.topPMilli) - 1] as number;
  const draw = draw64(sampling.seed, step);
  const at = firstAbove(sums, Number((draw * BigInt(total)) >> 64n));
  const low = at > 0 ? (sums[at - 1] as number) / total : 0;
  const nearTie = isNear(low, (sums[at] as number) / total, Number(draw) / 2 ** 64, sampling.temperatureMilli);
  return { token: ids[at] as number, nearTie };
}

function runnerUp(logits: Float32Array, best: number): number {
  let found = -Infinity;
  for (let id = 0; id < logits.length; id += 1) {
    if (id !== best && (logits[id] as number) > found) found = logits[id] as number;
  }
  return found;
}

/** Running sums of the weights: integers below 2^53, as a vocabulary is at most 2^20. */
function runningWeights(
  logits: Float32Array,
  ids: Uint32Array,
  greatest: number,
  temperatureMilli: number,
): Float64Array {
  const sums = new Float64Array(ids.length);
  let sum = 0;
  for (let at = 0; at < ids.length; at += 1) {
    sum += weightOf(greatest, logits[ids[at] as number] as number, temperatureMilli);
    sums[at] = sum;
  }
  return sums;
}

/** How many of the sorted tokens top-p keeps: the fewest whose sum reaches its share of the whole, at least one. */
function kept(sums: Float64Array, topPMilli: number): number {
  if (topPMilli >= 1000) return sums.length;
  const total = sums[sums.length - 1] as number;
  if (total < EXACT_THOUSANDFOLD) return 1 + sums.findIndex((sum) => sum * 1000 >= total * topPMilli);
  const wanted = BigInt(total) * BigInt(topPMilli);
  return 1 + firstWhere(sums.length, (at) => BigInt(sums[at] as number) * 1000n >= wanted);
}

/** The first place whose running sum is greater than `mark`: never one of weight 0. */
function firstAbove(sums: Float64Array, mark: number): number {
  return firstWhere(sums.length, (at) => (sums[at] as number) > mark);
}

/** The first place that holds, of places that hold from some one on. */
function firstWhere(count: number, holds: (at: number) => boolean): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Whether an edge q of the chosen interval could cross the draw: a change c of logits moves q by 2c/T q(1-q). */
function isNear(low: number, high: number, at: number, temperatureMilli: number): boolean {
  const reach = (2 * NEAR_TIE_LOGIT * 1000) / temperatureMilli;
  return at - low < reach * low * (1 - low) || high - at <= reach * high * (1 - high);
}

/** Whether some logits within `NEAR_TIE_LOGIT` of these would have chosen `token`: an outer bound, in floats. */
export function couldChoose(logits: Float32Array, sampling: Sampling, step: number, token: number): boolean {
  const own = logits[token] ?? -Infinity;
  if (!Number.isFinite(own)) return false;
  const change = NEAR_TIE_LOGIT;
  if (sampling.temperatureMilli === 0) return (logits[greatestId(logits)] as number) - own <= 2 * change;
  const surely = logits.reduce((count, value) => count + (value > own + 2 * change ? 1 : 0), 0);
  if (sampling.topK > 0 && sampling.topK <= surely) return false;
  return intervalHolds(logits, own, sampling, Number(draw64(sampling.seed, step)) / 2 ** 64);
}

/** Whether the widest interval that a token at `own` could get holds the draw `at`. */
function intervalHolds(logits: Float32Array, own: number, sampling: Sampling, at: number): boolean {
  const [change, scale] = [NEAR_TIE_LOGIT, 1000 / sampling.temperatureMilli];
  const ordered = Float64Array.from(logits).sort().reverse();
  const top = sampling.topK > 0 ? ordered.subarray(0, sampling.topK) : ordered;
  const first = top[0] as number;
  const mass = top.map((value) => Math.exp((value - first) * scale));
  const [up, down, share] = [Math.exp(change * scale), Math.exp(-change * scale), sampling.topPMilli / 1000];
  const sums = runningSums(mass);
  const whole = sums[sums.length - 1] as number;
  const reach = (part: number) =>
    Math.min(mass.length, 1 + firstWhere(sums.length, (place) => (sums[place] as number) >= part));
  const fewest = Math.max(1, reach(whole * share * down * down));
  const widest = sums[(share < 1 ? reach(whole * share * up * up) : mass.length) - 1] as number;
  const before = massWhere(top, mass, (value) => value > own + 2 * change);
  if (before >= widest * up * up) return false;
  const low = (before * down) / (widest * up);
  const maybe = massWhere(top, mass, (value) => value >= own - 2 * change);
  const most = Math.max(maybe, before + Math.exp((own - first) * scale));
  return low <= at && at <= (most * up) / ((sums[fewest - 1] as number) * down);
}

function runningSums(mass: Float64Array): Float64Array {
  let sum = 0;
  return mass.map((value) => (sum += value));
}

function massWhere(ordered: Float64Array, mass: Float64Array, holds: (logit: number) => boolean): number {
  return mass.reduce((sum, value, at) => (holds(ordered[at] as number) ? sum + value : sum), 0);
}
