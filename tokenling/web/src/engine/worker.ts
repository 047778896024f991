/* The rules engine, the host's own Python package, in a worker.

   Pyodide starts from the memory snapshot that the build made (the engine imported already), or, where that fails, from
   its plain files. The archive holds package and zone data and is imported as it is, zipped. */

import type { CallMessage, FromWorker, StartMessage, ToWorker } from "./wire.ts";

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
    const archive = await bytesAt(message.archive);
    const { loadPyodide } = (await import(`${message.pyodide}pyodide.mjs`)) as { loadPyodide: Load };
    const snapshot = message.snapshot === null ? null : await fromSnapshot(loadPyodide, message, message.snapshot, archive);
    const python = snapshot?.python ?? (await fromFiles(loadPyodide, message, archive));
    python.runPython(DOOR);
    door = python.globals.get("door");
    const startedFrom = snapshot?.python ? "snapshot" : "files";
    say({ kind: "ready", startedFrom, snapshotProblem: snapshot?.problem ?? null });
  } catch (error) {
    say({ kind: "failed", reason: nameOf(error) });
  }
}

async function fromSnapshot(load: Load, message: StartMessage, address: string, archive: Uint8Array) {
  try {
    const memory = await bytesAt(address);
    const python = await load({ indexURL: message.pyodide, _loadSnapshot: memory.buffer });
    python.FS.writeFile(ARCHIVE, archive);
    python.runPython(`import importlib; importlib.invalidate_caches()${PREPARE}`);
    return { python, problem: null };
  } catch (error) {
    return { python: null, problem: nameOf(error) };
  }
}

async function fromFiles(load: Load, message: StartMessage, archive: Uint8Array): Promise<Python> {
  const python = await load({ indexURL: message.pyodide });
  python.FS.writeFile(ARCHIVE, archive);
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

async function bytesAt(address: string): Promise<Uint8Array> {
  const found = await fetch(address);
  if (!found.ok) throw new Error(`HTTP ${found.status}`);
  return new Uint8Array(await found.arrayBuffer());
}

/** Tells the page about every piece that arrives, Pyodide's own files among them. */
function countBytes(): void {
  const plain = self.fetch.bind(self);
  self.fetch = async (...given) => {
    const found = await plain(...given);
    if (!found.body || !found.ok) return found;
    const counter = new TransformStream<Uint8Array, Uint8Array>({
      transform(piece, out) {
        loaded += piece.byteLength;
        say({ kind: "progress", loaded });
        out.enqueue(piece);
      },
    });
    return new Response(found.body.pipeThrough(counter), found);
  };
}

/** An error's class and first line: these are Pyodide's or the browser's own words, no pet's. */
function nameOf(error: unknown): string {
  const { name, message } = error as Error;
  return `${name}: ${String(message).split("\n")[0]?.slice(0, 200)}`;
}
