/* Which snapshots are taken, and when, while a reply is being written. */

import { afterEach, beforeEach, expect, test, vi } from "vitest";

import type { HomeSnapshot } from "../../src/contract.ts";
import { followByFrame } from "../../src/room/frames.ts";

let frames: Map<number, () => void>;
let tell: (words: string | null) => void;
let taken: (string | null)[];
let end: () => void;
const page = { hidden: false };

function paint(): void {
  const due = [...frames.values()];
  frames.clear();
  for (const frame of due) frame();
}

beforeEach(() => {
  [frames, taken, page.hidden] = [new Map(), [], false];
  let asked = 0;
  vi.stubGlobal("document", page);
  vi.stubGlobal("requestAnimationFrame", (frame: () => void) => (frames.set(++asked, frame), asked));
  vi.stubGlobal("cancelAnimationFrame", (id: number) => frames.delete(id));
  const ended = vi.fn();
  const subscribe = (listener: (snapshot: HomeSnapshot) => void) => {
    tell = (words) => !ended.mock.calls.length && listener({ words } as HomeSnapshot);
    tell(null);
    return ended;
  };
  end = followByFrame({ subscribe }, ({ words }) => taken.push(words));
});

afterEach(() => vi.unstubAllGlobals());

test("a frame shows the newest words, however many came before it", () => {
  for (const words of ["", "The", "The sun", "The sun is"]) tell(words);
  expect(taken).toEqual([null]);
  paint();
  tell("The sun is up");
  paint();
  paint();
  expect(taken).toEqual([null, "The sun is", "The sun is up"]);
});

test("the end of a reply is taken at once, and the words before it no more", () => {
  tell("The sun");
  tell(null);
  expect(taken).toEqual([null, null]);
  paint();
  expect(taken).toEqual([null, null]);
});

test("a page that nobody sees has no frames, and waits for none", () => {
  tell("The");
  page.hidden = true;
  tell("The sun");
  paint();
  expect(taken).toEqual([null, "The sun"]);
});

test("nothing is taken after the end", () => {
  tell("The sun");
  end();
  paint();
  expect(taken).toEqual([null]);
});
