import { expect, it } from "vitest";

import type { HomeSnapshot } from "../../src/contract.ts";
import { Arrivals } from "../../src/room/arrivals.ts";

type Seen = Pick<HomeSnapshot, "move" | "kind" | "link">;

const going = (to: "local" | "remote", step: "prepare" | "activate" | "resume" | "park", kind: "local" | "remote"): Seen => ({
  move: { to, step, abandonable: false, problem: null },
  kind,
  link: "moving",
});
const at = (kind: "local" | "remote", link: HomeSnapshot["link"]): Seen => ({ move: null, kind, link });
const told = (...snapshots: Seen[]) => {
  const arrivals = new Arrivals();
  return snapshots.map((snapshot) => arrivals.of(snapshot));
};

it("a pet that moved to a host has arrived when the page follows it there", () => {
  const seen = told(at("local", "running"), going("remote", "activate", "local"), at("remote", "asking"), at("remote", "live"));
  expect(seen).toEqual([null, null, "remote", null]);
});

it("a pet that came home has arrived in this page", () => {
  expect(told(going("local", "park", "remote"), at("local", "starting"))).toEqual([null, "local"]);
});

it("a move that was given up arrived nowhere", () => {
  expect(told(going("remote", "prepare", "local"), at("local", "running"))).toEqual([null, null]);
  expect(told(going("local", "park", "remote"), at("remote", "live"))).toEqual([null, null]);
});

it("a host that refuses to let a pet live on makes no arrival: it is paused still", () => {
  const refused = told(at("remote", "paused"), going("remote", "resume", "remote"), at("remote", "paused"), at("remote", "paused"));
  expect(refused).toEqual([null, null, null, null]);
});

it("a pet that is let live on has arrived once its host shows it alive, and that is told once", () => {
  const seen = told(going("remote", "resume", "remote"), at("remote", "paused"), at("remote", "live"), at("remote", "live"));
  expect(seen).toEqual([null, null, "remote", null]);
});
