import { describe, expect, it } from "vitest";
import type { Meters } from "../../src/room/model.ts";
import { HOUR_MS } from "../../src/room/times.ts";
import { plotOf, samplesFrom, withSample, type Sample } from "../../src/room/week.ts";

const HOUR = 400_000;
const NOW_MS = HOUR * HOUR_MS;
const meters = (value: number): Meters => ({ fullness: value, energy: value, mood: value, hygiene: value, warmth: value, bond: value });
const sample = (hour: number, value: number): Sample => [hour, value, value, value, value, value, value];

describe("one look an hour is kept", () => {
  it("with the last one of the hour", () => {
    const once = withSample([], NOW_MS, meters(500_000));
    expect(withSample(once, NOW_MS + 60_000, meters(700_000))).toEqual([sample(HOUR, 70)]);
  });

  it("for a week", () => {
    const week = withSample([sample(HOUR - 168, 1), sample(HOUR - 167, 2)], NOW_MS, meters(30_000));
    expect(week.map(([hour]) => hour)).toEqual([HOUR - 167, HOUR]);
  });

  it("in the order of their hours when the clock is set back", () => {
    const kept = [sample(HOUR - 3, 30), sample(HOUR, 50)];
    expect(withSample(kept, NOW_MS - 2 * HOUR_MS, meters(10_000))).toEqual([kept[0], sample(HOUR - 2, 1), kept[1]]);
  });

  it("whatever a clock that was years ahead has left", () => {
    const ahead = Array.from({ length: 400 }, (_, at) => sample(HOUR + 20_000 + at, 50));
    expect(withSample(ahead, NOW_MS, meters(10_000))).toEqual([sample(HOUR, 1)]);
  });

  it("and a week of a clock that is ahead by less pushes out none of what is seen now", () => {
    let samples = Array.from({ length: 167 }, (_, at) => sample(HOUR + 1 + at, 50));
    for (let hour = 0; hour < 168; hour += 1) samples = withSample(samples, NOW_MS + hour * HOUR_MS, meters(10_000));
    expect(samples.slice(-168)).toEqual(Array.from({ length: 168 }, (_, at) => sample(HOUR + at, 1)));
  });
});

it.each([null, "", "nonsense", "{}", "7", '[1,[2],["a",1,2,3,4,5,6],[1,2,3,4,5,6,1.5]]'])("kept samples from %s are none", (text) => {
  expect(samplesFrom(text)).toEqual([]);
});

describe("the plot", () => {
  it("draws neighbours as a line and breaks it where nobody looked", () => {
    const plot = plotOf(
      [sample(HOUR - 168, 0), sample(HOUR - 167, 100), sample(HOUR - 84, 50), sample(HOUR, 25)],
      "energy",
      NOW_MS,
      168,
      100,
    );
    expect(plot.line).toBe("M0.0 100.0 L1.0 0.0 M84.0 50.0 M168.0 75.0");
    expect(plot.dots).toEqual([
      { x: 84, y: 50 },
      { x: 168, y: 75 },
    ]);
    expect(plot.hours).toBe(4);
  });

  it("leaves out what is older than a week and what lies ahead", () => {
    expect(plotOf([sample(HOUR - 300, 1), sample(HOUR + 5, 1)], "mood", NOW_MS, 168, 100)).toEqual({ line: "", dots: [], hours: 0 });
  });
});
