import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { holdVigil, STARTING_TICKS_MAX, Vigil } from "../../src/site/vigil.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

test("a worker that owes an answer for two minutes is given up, once", () => {
  const gone = vi.fn();
  const vigil = new Vigil(null, gone);
  vigil.owes();
  vi.advanceTimersByTime(119_000);
  expect(gone).not.toHaveBeenCalled();
  vi.advanceTimersByTime(600_000);
  expect(gone).toHaveBeenCalledOnce();
});

test("one that shows that it works, or owes nothing, is not", () => {
  const gone = vi.fn();
  const vigil = new Vigil(null, gone);
  for (let minute = 0; minute < 10; minute += 1) {
    vigil.owes();
    vi.advanceTimersByTime(60_000);
  }
  vigil.rest();
  vi.advanceTimersByTime(3_600_000);
  expect(gone).not.toHaveBeenCalled();
});

test("one that starts has longer, for a slow network", () => {
  const gone = vi.fn();
  new Vigil(null, gone).owes(STARTING_TICKS_MAX);
  vi.advanceTimersByTime(595_000);
  expect(gone).not.toHaveBeenCalled();
  vi.advanceTimersByTime(10_000);
  expect(gone).toHaveBeenCalledOnce();
});

test("one that was ended on purpose is not reported", () => {
  const gone = vi.fn();
  const vigil = new Vigil(null, gone);
  vigil.owes();
  vigil.end();
  vi.advanceTimersByTime(3_600_000);
  expect(gone).not.toHaveBeenCalled();
});

test("a worker whose lock the browser refuses does not wait for it in silence", async () => {
  const request = () => Promise.reject(new DOMException("no locks here", "SecurityError"));
  vi.stubGlobal("navigator", { locks: { request } });
  await expect(holdVigil("tokenling.worker.one")).rejects.toMatchObject({ name: "SecurityError" });
});
