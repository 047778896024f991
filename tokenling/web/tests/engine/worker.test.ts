import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { afterEach, beforeEach, expect, test, vi } from "vitest";

import type { FromWorker, StartMessage } from "../../src/engine/wire.ts";

/* The engine's worker around a Pyodide that only loads: when it waits for which file is what these are about. The real
   one is tested in a browser (tests/browser/test_engine_in_chromium.py). */

/** Like the real one it awaits the snapshot after files of its own; `slow` is how many turns of the event loop later. */
const PYODIDE = (slow: number) => `
export async function loadPyodide({ _loadSnapshot: snapshot }) {
  for (let turn = 0; turn < ${slow}; turn += 1) await new Promise((resolve) => setTimeout(resolve, 1));
  await snapshot;
  return { FS: { writeFile() {} }, runPython() {}, globals: { get: () => () => "A" } };
}`;

const SITE: Record<string, string> = { "engine.zip": "the engine", "memory.bin": "a snapshot" };
let folder: string;
let unhandled: unknown[];
const note = (reason: unknown) => void unhandled.push(reason);

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "pyodide-"));
  unhandled = [];
  process.on("unhandledRejection", note);
  vi.resetModules();
  vi.stubGlobal("self", globalThis);
  vi.stubGlobal("fetch", async (url: string) => new Response(SITE[url.slice(url.lastIndexOf("/") + 1)]));
});

afterEach(() => {
  process.off("unhandledRejection", note);
  vi.unstubAllGlobals();
  rmSync(folder, { recursive: true });
});

function listed(name: string, text = SITE[name]!) {
  return { url: `https://site.test/${name}`, sha256: createHash("sha256").update(text).digest("hex") };
}

/** What the worker says about its start. */
async function started(files: Pick<StartMessage, "archive" | "snapshot">, slow: number): Promise<FromWorker> {
  writeFileSync(join(folder, "pyodide.mjs"), PYODIDE(slow));
  const said = new Promise<FromWorker>((resolve) => {
    vi.stubGlobal("postMessage", (message: FromWorker) => message.kind === "progress" || resolve(message));
  });
  await import("../../src/engine/worker.ts");
  const pyodide = `${pathToFileURL(folder).href}/`;
  const message: StartMessage = { kind: "start", pyodide, stdlib: `${pyodide}stdlib.zip`, vigil: null, ...files };
  (globalThis as unknown as { onmessage: (event: unknown) => void }).onmessage({ data: message });
  const answer = await said;
  await new Promise((resolve) => setTimeout(resolve, 1)); // what nobody took is told a turn later
  return answer;
}

test("it starts from a snapshot that is as listed", async () => {
  const answer = await started({ archive: listed("engine.zip"), snapshot: listed("memory.bin") }, 0);
  expect(answer).toEqual({ kind: "ready", startedFrom: "snapshot", snapshotProblem: null });
});

test.each([0, 20])("a snapshot refused %i turns before Pyodide asks for it is told, and no unhandled fault", async (slow) => {
  const answer = await started({ archive: listed("engine.zip"), snapshot: listed("memory.bin", "another") }, slow);
  expect(answer).toEqual({ kind: "ready", startedFrom: "files", snapshotProblem: "FileChanged: memory.bin" });
  expect(unhandled).toEqual([]);
});

test("an archive refused while Pyodide still loads is told, and no unhandled fault", async () => {
  const answer = await started({ archive: listed("engine.zip", "another"), snapshot: null }, 20);
  expect(answer).toMatchObject({ kind: "failed", code: "changed" });
  expect(unhandled).toEqual([]);
});
