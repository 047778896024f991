/* What a brain's worker must be told of a site: where its files lie, and what they must be. */

import { addressOf, type Site } from "../site/site.ts";
import type { FileAt } from "./files.ts";
import { brainRefused } from "./problem.ts";
import type { OpenMessage } from "./wire.ts";

/** Throws a `BrainProblem` when the site has no brain that a page can run. */
export function openMessage(site: Site): OpenMessage {
  const { brain } = site;
  if (!brain)
    throw brainRefused("brain_missing", "the site's brain", site.brainMissing ?? "none", "a brain that a page can run");
  const at = (path: string, file: { bytes: number; sha256: string }): FileAt => {
    return { url: addressOf(site, path), bytes: file.bytes, sha256: file.sha256 };
  };
  const wasm = `${site.ort}ort-wasm-simd-threaded.wasm`;
  const listed = site.files[wasm];
  if (!listed) throw brainRefused("file_missing", wasm, "no such file", "a file that the site lists");
  const files = Object.entries(brain.files).map(([name, file]) => [name, at(brain.base + name, file)] as const);
  return {
    kind: "open",
    ort: { module: addressOf(site, `${site.ort}ort-wasm-simd-threaded.mjs`), wasm: at(wasm, listed) },
    brain: { id: brain.id, precision: brain.precision, files: Object.fromEntries(files) },
  };
}
