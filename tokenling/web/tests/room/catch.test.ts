import { expect, it } from "vitest";
import { CALM_CROSSING_MS, CROSSING_MS, REACH, RING, isCaught, swing, timeLeft } from "../../src/room/catch_rules.ts";

it("crosses the field once and is gone", () => {
  expect(swing(0, CROSSING_MS)).toEqual({ x: 0, y: 0.72 });
  expect(swing(CROSSING_MS, CROSSING_MS)?.x).toBe(1);
  expect(swing(CROSSING_MS + 1, CROSSING_MS)).toBeNull();
});

it("stays inside the field", () => {
  for (let at = 0; at <= 100; at += 1) {
    const place = swing(at, 100);
    expect(place && place.y > 0 && place.y < 1).toBe(true);
  }
});

it.each([
  [RING, true],
  [RING + REACH - 0.001, true],
  [RING - REACH + 0.001, true],
  [RING + REACH + 0.001, false],
  [0, false],
])("at %d caught: %s", (x, caught) => {
  expect(isCaught(x)).toBe(caught);
});

it("gives those who prefer less motion more time in the ring", () => {
  expect(CALM_CROSSING_MS * 2 * REACH).toBeGreaterThan(CROSSING_MS * 2 * REACH);
});

it.each([
  [180_000, "3:00"],
  [61_001, "1:02"],
  [59_000, "0:59"],
  [1, "0:01"],
  [0, "0:00"],
  [-5, "0:00"],
])("%i ms left read %s", (left, words) => {
  expect(timeLeft(1_000_000 + left, 1_000_000)).toBe(words);
});
