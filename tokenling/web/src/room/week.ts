/* A week of a body: the page notes the six meters once an hour while it is open, and draws what it saw. A save keeps no
   history of its meters, so the hours that nobody looked are gaps, and are drawn as gaps. */

import { read, write } from "./kept.ts";
import { METERS, type Meter, type Meters } from "./model.ts";
import { DAY_MS, HOUR_MS } from "./times.ts";

const WEEK_MS = 7 * DAY_MS;
const WEEK_HOURS = 7 * 24;
/** An hour each: the week that was, and one of a clock that has been set back since. */
const SAMPLES_MAX = 2 * WEEK_HOURS;
/** Between samples further apart than this nothing is drawn: nobody looked. */
const GAP_MS = 3 * HOUR_MS;
const SCALE = 10_000;

/** `[hour since 1970, fullness, energy, mood, hygiene, warmth, bond]`, meters in hundredths. */
export type Sample = readonly [number, number, number, number, number, number, number];

const keyOf = (localId: string) => `tokenling.room.week.v1.${localId}`;

export function samplesFrom(text: string | null): Sample[] {
  try {
    const found: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(found) ? found.filter(isSample).slice(-SAMPLES_MAX) : [];
  } catch {
    return [];
  }
}

function isSample(value: unknown): value is Sample {
  return Array.isArray(value) && value.length === METERS.length + 1 && value.every((part) => Number.isSafeInteger(part));
}

/** With the body as it is at `atMs`: the last look of an hour counts. What lies ahead was seen by a clock that has been set
    back since: it is kept for a week, for the clock may have been right then, and never in the way of what is seen now. */
export function withSample(samples: readonly Sample[], atMs: number, meters: Meters): Sample[] {
  const hour = Math.floor(atMs / HOUR_MS);
  const sample = [hour, ...METERS.map((meter) => Math.round(meters[meter] / SCALE))] as unknown as Sample;
  const others = samples.filter(([at]) => at !== hour && Math.abs(at - hour) < WEEK_HOURS);
  return [...others, sample].sort(([one], [other]) => one - other).slice(-SAMPLES_MAX);
}

export function keptSamples(localId: string): Sample[] {
  return samplesFrom(read(keyOf(localId)));
}

export function noteBody(localId: string, atMs: number, meters: Meters): void {
  write(keyOf(localId), JSON.stringify(withSample(keptSamples(localId), atMs, meters)));
}

export function forgetBody(localId: string): void {
  write(keyOf(localId), "[]");
}

export interface Plot {
  /** SVG path data in a box of `width` by `height`. */
  line: string;
  /** A point for each sample that stands alone: a line of one point is not seen. */
  dots: { x: number; y: number }[];
  /** How many hours of the week were seen. */
  hours: number;
}

/** The line of one meter over the week that ends at `nowMs`; a look too long after the last starts a new piece. */
export function plotOf(samples: readonly Sample[], meter: Meter, nowMs: number, width: number, height: number): Plot {
  const from = nowMs - WEEK_MS;
  const at = METERS.indexOf(meter) + 1;
  const seen = samples.filter(([hour]) => hour * HOUR_MS > from - HOUR_MS && hour * HOUR_MS <= nowMs);
  const pieces: { x: number; y: number }[][] = [];
  let lastMs = -Infinity;
  for (const sample of seen) {
    const atMs = sample[0] * HOUR_MS;
    const x = Math.max(0, ((atMs - from) / WEEK_MS) * width);
    const y = height - ((sample[at] ?? 0) / 100) * height;
    if (atMs - lastMs > GAP_MS) pieces.push([]);
    pieces.at(-1)?.push({ x, y });
    lastMs = atMs;
  }
  const line = pieces.map((piece) => `M${piece.map(({ x, y }) => `${x.toFixed(1)} ${y.toFixed(1)}`).join(" L")}`).join(" ");
  return { line, dots: pieces.filter((piece) => piece.length === 1).flat(), hours: seen.length };
}

/** Midnights of the week in the pet's zone, as shares of the width, with the day that begins there. */
export function daysOf(
  nowMs: number,
  zone: string | undefined,
  hourOf: (atMs: number, zone?: string) => number,
): { at: number; atMs: number }[] {
  const days: { at: number; atMs: number }[] = [];
  const sinceMidnight = hourOf(nowMs, zone) * HOUR_MS;
  for (let back = 0; back < 7; back += 1) {
    const atMs = nowMs - sinceMidnight - back * DAY_MS;
    const at = 1 - (nowMs - atMs) / WEEK_MS;
    if (at >= 0) days.unshift({ at, atMs });
  }
  return days;
}
