import { describe, expect, it } from "vitest";
import type { Effect } from "../../src/contract.ts";
import { AT_ONCE_MAX, freshEffects, playOf } from "../../src/room/effects.ts";

const effect = (id: number, kind = "feed", item?: string): Effect => ({ id, kind, atMs: id, ...(item ? { item } : {}) });

describe("an effect is played once, by its id", () => {
  it("is not played when it happened before the first look", () => {
    expect(freshEffects([effect(1), effect(2)], null)).toEqual({ fresh: [], seenId: 2 });
  });

  it("is played when it is newer than the newest seen, and then seen", () => {
    const first = freshEffects([effect(1), effect(2), effect(3)], 1);
    expect(first.fresh.map(({ id }) => id)).toEqual([2, 3]);
    expect(freshEffects([effect(2), effect(3)], first.seenId)).toEqual({ fresh: [], seenId: 3 });
  });

  it("is not played again when an older snapshot comes late", () => {
    expect(freshEffects([effect(1)], 3)).toEqual({ fresh: [], seenId: 3 });
  });

  it("is dropped, not queued, when too many come at once", () => {
    const many = Array.from({ length: 32 }, (_, index) => effect(index + 1));
    const { fresh, seenId } = freshEffects(many, 0);
    expect(fresh.map(({ id }) => id)).toEqual([30, 31, 32]);
    expect(fresh).toHaveLength(AT_ONCE_MAX);
    expect(seenId).toBe(32);
  });

  it("has an id that the pet's own count has reached: one that a host made up spoils none that follow", () => {
    const made = effect(Number.MAX_SAFE_INTEGER);
    const { fresh, seenId } = freshEffects([effect(4), made, effect(-1)], 3, 5);
    expect([fresh.map(({ id }) => id), seenId]).toEqual([[4], 4]);
  });

  it("is new again after an id was noted that the count has not reached", () => {
    const noted = freshEffects([effect(1), effect(2)], Number.MAX_SAFE_INTEGER, 3);
    expect(noted).toEqual({ fresh: [], seenId: 2 });
    expect(freshEffects([effect(2), effect(3)], noted.seenId, 4).fresh.map(({ id }) => id)).toEqual([3]);
  });

  it("leaves an empty list as it was", () => {
    expect(freshEffects([], 7)).toEqual({ fresh: [], seenId: 7 });
  });
});

it("shows the fed thing in its paws", () => {
  expect(playOf(effect(1, "feed", "plum"))).toMatchObject({ movement: "eat", item: "plum" });
});

it("plays an action by its name", () => {
  expect(playOf(effect(1, "act", "sing"))).toMatchObject({ movement: "sing", sparks: "note" });
});

it.each([
  ["act", "unheard"],
  ["unheard", ""],
  ["act", ""],
])("plays nothing for %s %s", (kind, item) => {
  expect(playOf(effect(1, kind, item))).toBeNull();
});
