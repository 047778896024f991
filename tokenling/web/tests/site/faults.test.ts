import { expect, test } from "vitest";

import { HomeProblem, RecordsBroken, RecordsTooNew } from "../../src/home/problems.ts";
import { stringKeys } from "../../src/room/strings.ts";
import { loadFault, startFault } from "../../src/site/faults.ts";
import { SiteProblem } from "../../src/site/site.ts";

test.each<[string, unknown, boolean, string]>([
  ["no IndexedDB at all", new ReferenceError("indexedDB is not defined"), false, "problem.no_storage"],
  ["one that the browser forbids", new DOMException("", "SecurityError"), true, "problem.no_storage"],
  ["one that a private window forbids", new HomeProblem("records_failed", { name: "InvalidStateError" }), true, "problem.no_storage"],
  ["a full disk", new HomeProblem("storage_full"), true, "problem.storage_full"],
  ["a failing disk", new HomeProblem("records_failed", { name: "DataError" }), true, "problem.records_failed"],
  ["an older tab", new HomeProblem("records_blocked"), true, "problem.records_blocked"],
  ["a newer app's records", new RecordsTooNew("subtokenling.v1", 2), true, "problem.records_too_new"],
  ["a spoilt record", new RecordsBroken("subtokenling.v1", "/x"), true, "problem.records_broken"],
  ["a site that does not answer", new SiteProblem("unreachable"), true, "problem.no_site"],
  ["a site that makes no sense", new SiteProblem("not_a_site", "/build"), true, "problem.not_a_site"],
  ["a fault of the page's own", new TypeError("x is not a function"), true, "problem.start_failed"],
])("%s is told as what it is", (_, error, here, key) => {
  expect(startFault(error, here).key).toBe(key);
  expect(stringKeys()).toContain(key);
});

test("a fault of the page's own is named by its class, never by its words", () => {
  expect(startFault(new TypeError("a secret"), true).code).toBe("TypeError");
});

test("a load's fault is told by its code", () => {
  expect(loadFault(Object.assign(new Error(), { name: "EngineUnavailable", code: "unreachable" }))).toBe("unreachable");
  expect([loadFault(new Error("x")), loadFault("odd")]).toEqual(["Error", "failed"]);
});
