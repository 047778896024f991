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

  it("and never one of the past", () => {
    const kept = [sample(HOUR, 50)];
    expect(withSample(kept, NOW_MS - 2 * HOUR_MS, meters(1))).toEqual(kept);
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
