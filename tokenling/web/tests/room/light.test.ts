import { expect, test } from "vitest";
import { lightOf } from "../../src/room/scene/light.ts";

const indoors = { weather: "sun", outdoors: false, lamp: false };

test("a dry day leaves every colour as it is", () => {
  for (const weather of ["sun", "cloud", "wind", "snow"])
    expect(lightOf({ ...indoors, sky: "day", weather })).toEqual({ still: [1, 1, 1], near: [1, 1, 1] });
});

test("the dark takes more from far than from near, and more red than blue", () => {
  for (const sky of ["dawn", "dusk", "night"]) {
    const { still, near } = lightOf({ ...indoors, sky });
    for (const part of [0, 1, 2] as const) expect(still[part]).toBeLessThan(near[part]);
    expect(still[0]).toBeLessThan(still[2]);
  }
});

test("night in a room by hand: red is (0.4 + 0.6 · 0.231) behind, times (0.748 + 0.252 · 0.231) before", () => {
  const [red] = lightOf({ ...indoors, sky: "night" }).still;
  expect(red).toBeCloseTo((1 - 0.6 + 0.6 * 0.231) * (1 - 0.252 + 0.252 * 0.231), 6);
});

test("a lamp gives light back indoors and none outdoors", () => {
  const night = { ...indoors, sky: "night" };
  const sum = (lamp: boolean, outdoors = false) => lightOf({ ...night, lamp, outdoors }).still.reduce((all, part) => all + part, 0);
  expect(sum(true)).toBeGreaterThan(sum(false));
  expect(sum(true, true)).toBe(sum(false, true));
});

test("an hour or a weather that nobody knows is a plain day", () => {
  expect(lightOf({ ...indoors, sky: "eclipse", weather: "frogs" }).near).toEqual([1, 1, 1]);
});
