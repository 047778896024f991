import { describe, expect, test } from "vitest";

import { wrongIn } from "../../src/site/manifest.ts";
import { readSite, SiteProblem } from "../../src/site/site.ts";

const FILE = { bytes: 3, sha256: "ab".repeat(32) };
const SITE = {
  v: 1,
  build: "0123456789ab",
  engine: { pyodide: "app/pyodide-314.0.7/", stdlib: "app/stdlib-0.zip", archive: "app/engine-0.zip", snapshot: "app/snapshot-0.bin" },
  ort: "app/ort-1.30.0/",
  workers: { engine: "app/engine-worker-0.js", brain: "app/brain-worker-0.js" },
  files: Object.fromEntries(
    ["index.html", "app/stdlib-0.zip", "app/engine-0.zip", "app/snapshot-0.bin", "app/engine-worker-0.js", "app/brain-worker-0.js"].map(
      (name) => [name, FILE],
    ),
  ),
  brain: { id: "sprout-1", base: "brain/sprout-1/", precision: "q4", files: { "onnx/model_q4.onnx": FILE } },
  brainMissing: null,
  defaultHost: null,
  hosted: true,
};

type Site = typeof SITE;
const wrong = (change: (site: Site) => unknown) => wrongIn(change(structuredClone(SITE)));

test("what the build writes and a host completes is one", () => {
  expect(wrongIn(SITE)).toBeNull();
  expect(wrong((site) => ({ ...site, brain: null, brainMissing: "not_bundled", hosted: false }))).toBeNull();
  expect(wrong((site) => ({ ...site, defaultHost: "https://pets.example" }))).toBeNull();
  expect(wrong((site) => ({ ...site, engine: { ...site.engine, snapshot: null } }))).toBeNull();
});

describe("a manifest that names what no site has is refused, with the place", () => {
  test.each<[string, (site: Site) => unknown, string]>([
    ["nothing", () => null, "/v"],
    ["a list", () => [], "/v"],
    ["another version", (site) => ({ ...site, v: 2 }), "/v"],
    ["a build that is markup", (site) => ({ ...site, build: "<b>" }), "/build"],
    ["no files", (site) => ({ ...site, files: 7 }), "/files"],
    ["a step up", (site) => ({ ...site, files: { ...site.files, "../x": FILE } }), "/files/../x"],
    ["a step up within", (site) => ({ ...site, files: { "app/../../x": FILE } }), "/files/app/../../x"],
    ["the root", (site) => ({ ...site, files: { "/etc/x": FILE } }), "/files//etc/x"],
    ["another origin's file", (site) => ({ ...site, files: { "https://evil.example/x": FILE } }), "/files/https://evil.example/x"],
    ["a file of no host", (site) => ({ ...site, files: { "//evil.example/x": FILE } }), "/files///evil.example/x"],
    ["a size below zero", (site) => ({ ...site, files: { a: { ...FILE, bytes: -1 } } }), "/files/a"],
    ["a size that is no number", (site) => ({ ...site, files: { a: { ...FILE, bytes: "3" } } }), "/files/a"],
    ["a huge size", (site) => ({ ...site, files: { a: { ...FILE, bytes: 2 ** 40 } } }), "/files/a"],
    ["a size past integers", (site) => ({ ...site, files: { a: { ...FILE, bytes: 1e300 } } }), "/files/a"],
    ["a short digest", (site) => ({ ...site, files: { a: { ...FILE, sha256: "ab" } } }), "/files/a"],
    ["too many files", (site) => ({ ...site, files: Object.fromEntries(Array.from({ length: 2001 }, (_, at) => [`f${at}`, FILE])) }), "/files"],
    ["Pyodide elsewhere", (site) => ({ ...site, engine: { ...site.engine, pyodide: "https://evil.example/" } }), "/engine/pyodide"],
    ["Pyodide above", (site) => ({ ...site, engine: { ...site.engine, pyodide: "../" } }), "/engine/pyodide"],
    ["an archive that is not listed", (site) => ({ ...site, engine: { ...site.engine, archive: "app/other.zip" } }), "/engine/archive"],
    ["a library that is not listed", (site) => ({ ...site, engine: { ...site.engine, stdlib: "app/other.zip" } }), "/engine/stdlib"],
    ["a snapshot that is not listed", (site) => ({ ...site, engine: { ...site.engine, snapshot: "app/other.bin" } }), "/engine/snapshot"],
    ["a runtime elsewhere", (site) => ({ ...site, ort: "//evil.example/" }), "/ort"],
    ["a worker elsewhere", (site) => ({ ...site, workers: { ...site.workers, brain: "https://evil.example/w.js" } }), "/workers/brain"],
    ["a worker in a data URL", (site) => ({ ...site, workers: { ...site.workers, engine: "data:text/javascript,1" } }), "/workers/engine"],
    ["a brain above", (site) => ({ ...site, brain: { ...site.brain, base: "brain/../../" } }), "/brain/base"],
    ["a brain beside", (site) => ({ ...site, brain: { ...site.brain, base: "app/" } }), "/brain/base"],
    ["a brain elsewhere", (site) => ({ ...site, brain: { ...site.brain, base: "https://evil.example/" } }), "/brain/base"],
    ["a brain's file above", (site) => ({ ...site, brain: { ...site.brain, files: { "../config.json": FILE } } }), "/brain/files/../config.json"],
    ["a brain with a path for an id", (site) => ({ ...site, brain: { ...site.brain, id: "../x" } }), "/brain/id"],
    ["a brain without files", (site) => ({ ...site, brain: { ...site.brain, files: null } }), "/brain/files"],
    ["a script for a host", (site) => ({ ...site, defaultHost: "javascript:alert(1)" }), "/defaultHost"],
    ["a host with a path", (site) => ({ ...site, defaultHost: "https://pets.example/x" }), "/defaultHost"],
    ["a host with a password", (site) => ({ ...site, defaultHost: "https://a:b@pets.example" }), "/defaultHost"],
    ["no word on who serves it", (site) => ({ ...site, hosted: "yes" }), "/hosted"],
  ])("%s", (_, change, path) => {
    expect(wrong(change)).toBe(path);
  });

  test.each(["", "{", "[1]", "null", `"${"x".repeat(300_000)}"`])("text that is none: %#", (text) => {
    expect(() => readSite(text)).toThrow(SiteProblem);
  });
});
