/* The rules engine, the host's own Python package, in a worker.

   Pyodide starts from the memory snapshot that the build made (the engine imported already), or, where that fails, from
   its plain files. The archive holds package and zone data and is imported as it is, zipped. */

import type { ListedFile } from "../site/site.ts";
import { holdVigil } from "../site/vigil.ts";
import type { CallMessage, FromWorker, StartFault, StartMessage, ToWorker } from "./wire.ts";

interface Python {
  FS: { writeFile(path: string, data: Uint8Array): void };
  runPython(code: string): unknown;
  globals: { get(name: string): (name: string, argumentsJson: string) => string };
}

type Load = (options: Record<string, unknown>) => Promise<Python>;

const ARCHIVE = "/engine.zip";
/** Keep the text in step with `build.mjs`, which runs it before the snapshot is taken. */
const PREPARE = `
import sys
if "${ARCHIVE}" not in sys.path:
    sys.path.insert(0, "${ARCHIVE}")
from tokenling.engine import bridge
from tokenling.engine.contract import contract
`;
const DOOR = `
import json, traceback

def door(name, arguments):
    """'A' and the answer, or 'F' and the fault as [class, frames]: a traceback's own text would hold values."""
    try:
        return "A" + (contract() if name == "contract" else bridge.call(name, arguments))
    except Exception as fault:
        seen = traceback.extract_tb(fault.__traceback__)
        return "F" + json.dumps([type(fault).__name__, [f"{f.filename.rpartition('/')[2]}:{f.lineno} {f.name}" for f in seen[-12:]]])
`;

let door: ((name: string, argumentsJson: string) => string) | null = null;
let loaded = 0;

function say(message: FromWorker): void {
  self.postMessage(message);
}

self.onmessage = (event: MessageEvent<ToWorker>) => {
  if (event.data.kind === "start") void start(event.data);
  else answer(event.data);
};

async function start(message: StartMessage): Promise<void> {
  countBytes();
  try {
    // everything that does not wait for something else sets out at once
    const archive = checked(message.archive);
    archive.catch(() => undefined); // told where it is awaited
    const module = import(`${message.pyodide}pyodide.mjs`) as Promise<{ loadPyodide: Load }>;
    const { snapshot } = message;
    const fast = snapshot === null ? null : await fromSnapshot(module, message, snapshot, archive);
    const python = fast?.python ?? (await fromFiles(module, message, archive));
    python.runPython(DOOR);
    door = python.globals.get("door");
    await holdVigil(message.vigil);
    const startedFrom = fast?.python ? "snapshot" : "files";
    say({ kind: "ready", startedFrom, snapshotProblem: fast?.problem ?? null });
  } catch (error) {
    say({ kind: "failed", code: codeOf(error), reason: nameOf(error) });
  }
}

type Module = Promise<{ loadPyodide: Load }>;

function placesOf({ pyodide, stdlib }: StartMessage) {
  return { indexURL: pyodide, stdLibURL: stdlib };
}

async function fromSnapshot(module: Module, message: StartMessage, file: ListedFile, archive: Promise<Uint8Array>) {
  try {
    // Pyodide awaits it behind its own files: until then a refusal is nobody's
    const memory = checked(file).then(({ buffer }) => buffer);
    memory.catch(() => undefined);
    const { loadPyodide } = await module;
    const python = await loadPyodide({ ...placesOf(message), _loadSnapshot: memory });
    // the memory knows what lies where in the archive: it was taken over these very bytes
    python.FS.writeFile(ARCHIVE, await archive);
    python.runPython(PREPARE);
    return { python, problem: null };
  } catch (error) {
    return { python: null, problem: nameOf(error) };
  }
}

async function fromFiles(module: Module, message: StartMessage, archive: Promise<Uint8Array>): Promise<Python> {
  const { loadPyodide } = await module;
  const python = await loadPyodide(placesOf(message));
  python.FS.writeFile(ARCHIVE, await archive);
  python.runPython(PREPARE);
  return python;
}

function answer({ id, name, argumentsJson }: CallMessage): void {
  if (door === null) return say({ kind: "crashed", id });
  try {
    const text = door(name, argumentsJson);
    if (text.startsWith("A")) return say({ kind: "answer", id, json: text.slice(1) });
    const [error, frames] = JSON.parse(text.slice(1)) as [string, string[]];
    say({ kind: "fault", id, error, frames });
  } catch {
    door = null; // the interpreter does not survive what Python could not catch
    say({ kind: "crashed", id });
  }
}

class FileChanged extends Error {
  override name = "FileChanged";
}

/** The bytes of a file, if they are what the site lists. Hashed while Pyodide's own files are on their way. */
async function checked({ url, sha256 }: ListedFile): Promise<Uint8Array> {
  const found = await fetch(url);
  if (!found.ok) throw new TypeError(`HTTP ${found.status}`);
  const bytes = new Uint8Array(await found.arrayBuffer());
  if (await isListed(bytes, sha256)) return bytes;
  // a copy that was cut short would stay so in the browser's cache
  const again = new Uint8Array(await (await fetch(url, { cache: "reload" })).arrayBuffer());
  if (await isListed(again, sha256)) return again;
  throw new FileChanged(url.slice(url.lastIndexOf("/") + 1));
}

/** In an insecure page there is no hashing, and nothing to gain: whoever changes a file changes the list as well. */
async function isListed(bytes: Uint8Array<ArrayBuffer>, sha256: string): Promise<boolean> {
  if (!globalThis.crypto?.subtle) return true;
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("") === sha256;
}

/** The page is told so often at most: telling is work, too. */
const TELL_MS = 100;

/** Tells the page about every piece that arrives, Pyodide's own files among them. WebAssembly goes by untouched: only so
    does the browser compile it while it comes, and keep the result. */
function countBytes(): void {
  const plain = self.fetch.bind(self);
  let toldMs = 0;
  self.fetch = async (...given) => {
    const found = await plain(...given);
    if (!found.body || !found.ok) return found;
    if (found.url.endsWith(".wasm")) {
      loaded += Number(found.headers.get("Content-Length") ?? 0);
      return found;
    }
    const counter = new TransformStream<Uint8Array, Uint8Array>({
      transform(piece, out) {
        loaded += piece.byteLength;
        const now = performance.now();
        if (now - toldMs >= TELL_MS) say({ kind: "progress", loaded });
        if (now - toldMs >= TELL_MS) toldMs = now;
        out.enqueue(piece);
      },
    });
    return new Response(found.body.pipeThrough(counter), found);
  };
}

/** `fetch` and `import` reject with a `TypeError` when nothing comes. */
function codeOf(error: unknown): StartFault {
  if (error instanceof FileChanged) return "changed";
  return error instanceof TypeError ? "unreachable" : "failed";
}

/** An error's class and first line: these are Pyodide's or the browser's own words, no pet's. */
function nameOf(error: unknown): string {
  const { name, message } = error as Error;
  return `${name}: ${String(message).split("\n")[0]?.slice(0, 200)}`;
}
