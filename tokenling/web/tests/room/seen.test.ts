import { describe, expect, it } from "vitest";
import type { PageNotes, PetSummary } from "../../src/contract.ts";
import { HATCH_MS, playOf } from "../../src/room/effects.ts";
import { Loading, percentOf } from "../../src/room/loading.ts";
import { cameOf, cameWords, listedNames, withCame } from "../../src/room/namesakes.ts";
import { readingMs } from "../../src/room/views/speech.ts";

describe("how far a load is", () => {
  it("never goes back while it goes on", () => {
    const loading = new Loading();
    const seen: number[] = [];
    loading.subscribe(({ engine }) => seen.push(percentOf(engine)));
    for (const loaded of [10, 40, 5, 60, 0, 99]) loading.progress({ part: "engine", loaded, total: 100 });
    loading.ready("engine");
    expect(seen).toEqual([...seen].sort((a, b) => a - b));
    expect(seen.at(-1)).toBe(100);
  });

  it("does not jump back when more turns out to be needed", () => {
    const loading = new Loading();
    loading.progress({ part: "brain", loaded: 50, total: 100 });
    loading.progress({ part: "brain", loaded: 60, total: 400 });
    expect(percentOf(loading.now.brain)).toBe(50);
  });

  it("says 100 only of what is ready", () => {
    const loading = new Loading();
    loading.progress({ part: "engine", loaded: 100, total: 100 });
    expect(percentOf(loading.now.engine)).toBe(99);
  });

  it("begins anew after a failure, and says so", () => {
    const loading = new Loading();
    loading.progress({ part: "brain", loaded: 80, total: 100 });
    loading.failed("brain", "network");
    loading.progress({ part: "brain", loaded: 10, total: 100 });
    expect(loading.now.brain).toEqual({ loaded: 10, total: 100, ready: false, failed: null });
  });
});

describe("pets that look alike", () => {
  const pet = (localId: string, name: string): PetSummary => ({
    localId,
    name,
    hue: 1,
    stage: "child",
    kind: "local",
    host: null,
    exportedAtMs: null,
    leaving: false,
  });
  const notes: PageNotes = { current: null, seen: {} };

  it("numbers those that share a name, in the order in which they came", () => {
    const names = listedNames([pet("a", "Pip"), pet("b", "Moss"), pet("c", "Pip"), pet("d", "Pip"), pet("e", ""), pet("f", "")]);
    expect([...names.values()]).toEqual(["Pip", "Moss", "Pip (2)", "Pip (3)", "A pet", "A pet (2)"]);
  });

  it("notes how each came, and forgets those that have gone", () => {
    const once = withCame(notes, "a", { how: "egg", atMs: 1 }, ["a"]);
    const twice = withCame(once, "b", { how: "file", atMs: 2 }, ["a", "b"]);
    expect(cameOf(twice)).toEqual({ a: { how: "egg", atMs: 1 }, b: { how: "file", atMs: 2 } });
    expect(Object.keys(cameOf(withCame(twice, "c", { how: "card", atMs: 3 }, ["b", "c"])))).toEqual(["b", "c"]);
    expect(cameWords({ how: "file", atMs: Date.UTC(2026, 9, 14) })).toContain("from a file, ");
    expect(cameWords(undefined)).toBe("");
  });

  it.each([[undefined], [null], ["x"], [[1]], [{ a: 1 }], [{ a: { how: "stork", atMs: 1 } }], [{ a: { how: "egg", atMs: "1" } }]])(
    "reads nothing out of notes of another shape: %j",
    (came) => {
      expect(cameOf({ ...notes, came })).toEqual({});
    },
  );
});

describe("words by the pet", () => {
  it("stay longer the longer they are, within bounds", () => {
    expect(readingMs("Hm.")).toBe(3500 + 3 * 70);
    expect(readingMs("🦊".repeat(10))).toBe(3500 + 700);
    expect(readingMs("x".repeat(400))).toBe(20_000);
  });
});

it("a hatching has the room for itself, and its sparks fly when the shell opens", () => {
  const play = playOf({ id: 1, kind: "hatch", atMs: 0 });
  expect(play?.aloneMs).toBe(HATCH_MS);
  expect(play?.sparksAfterMs).toBe(HATCH_MS / 2);
});
