/* A brain's files, brought here: counted as they come, and checked by SHA-256 before anything reads them. */

import { sha256 } from "./canonical.ts";
import { BrainProblem, brainRefused, lost } from "./problem.ts";
import { isObject } from "./request.ts";

/** A guess: weights in four bits unfold eightfold, and WebAssembly has 4 GiB. */
const BRAIN_BYTES_MAX = 2 ** 29;

/** Where a file lies, and what it must be. */
export interface FileAt {
  url: string;
  bytes: number;
  sha256: string;
}

export type Bytes = Uint8Array<ArrayBuffer>;

/** The bytes of each file, all fetched side by side. `onBytes` is told of each piece that arrives. Rejects with a
    `BrainProblem`: `file_unreachable` may go away by itself, `file_changed` only with another site. */
export async function fetchFiles(
  files: Record<string, FileAt>,
  onBytes: (count: number) => void,
): Promise<Map<string, Bytes>> {
  const total = Object.values(files).reduce((sum, file) => sum + file.bytes, 0);
  if (!(total <= BRAIN_BYTES_MAX)) {
    throw brainRefused("file_too_large", "the brain's files", `${total} bytes`, `at most ${BRAIN_BYTES_MAX}`);
  }
  const stop = new AbortController();
  const fetched = Object.entries(files).map(
    async ([name, file]) => [name, await fetchFile(name, file, onBytes, stop.signal)] as const,
  );
  try {
    return new Map(await Promise.all(fetched));
  } catch (error) {
    stop.abort(); // the others would go on for a brain that nobody opens
    throw error;
  }
}

/** A file that came otherwise than listed is asked for once more, past the cache, where one cut short would stay so. */
async function fetchFile(
  name: string,
  file: FileAt,
  onBytes: (count: number) => void,
  signal: AbortSignal,
): Promise<Bytes> {
  try {
    return await fetchOnce(name, file, onBytes, { signal });
  } catch (error) {
    if (!(error instanceof BrainProblem) || error.code !== "file_changed") throw error;
    return fetchOnce(name, file, () => undefined, { signal, cache: "reload" });
  }
}

async function fetchOnce(
  name: string,
  file: FileAt,
  onBytes: (count: number) => void,
  how: RequestInit,
): Promise<Bytes> {
  const bytes = new Uint8Array(file.bytes);
  let filled = 0;
  for await (const piece of pieces(name, file.url, how)) {
    if (filled + piece.length > bytes.length) throw changed(name, "more bytes", file);
    bytes.set(piece, filled);
    filled += piece.length;
    onBytes(piece.length);
  }
  if (filled < bytes.length) throw changed(name, `${filled} bytes`, file);
  const digest = await sha256(bytes);
  if (digest !== file.sha256) throw changed(name, `SHA-256 ${digest}`, file);
  return bytes;
}

/** The body piece by piece; what is left of it when nobody asks on is not fetched. */
async function* pieces(name: string, url: string, how: RequestInit): AsyncGenerator<Uint8Array> {
  let reader: ReadableStreamDefaultReader<Uint8Array> | null = null;
  try {
    const answer = await fetch(url, how);
    if (!answer.ok || !answer.body) throw lost("file_unreachable", name, `status ${answer.status}`, "the file");
    reader = answer.body.getReader();
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) yield piece.value;
  } catch (error) {
    throw error instanceof BrainProblem ? error : lost("file_unreachable", name, "no answer", "the file");
  } finally {
    void reader?.cancel().catch(() => undefined); // of a body that failed, there is nothing to cancel
  }
}

function changed(name: string, found: string, { bytes, sha256: digest }: FileAt) {
  return brainRefused("file_changed", name, found, `${bytes} bytes with SHA-256 ${digest}, as the site lists`);
}

/** The JSON object that a file holds. */
export function objectIn(bytes: Bytes, name: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw brainRefused("json_malformed", name, "what does not parse", "one JSON object");
  }
  if (!isObject(value)) throw brainRefused("json_malformed", name, "another value", "one JSON object");
  return value;
}
