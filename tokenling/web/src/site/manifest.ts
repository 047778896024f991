/* `app/site.json` as it must be before anything that it names is fetched. Whoever can write it can write the page, too;
   but a half-written deployment, a wrong proxy or a mixed-up directory must be told, not followed: no address leaves the
   site, no size is beyond what a page can hold, and what is listed can be checked. */

import type { SiteBrain, SiteFile, SiteJson } from "./site.ts";

/** Files of an app or of a brain. A guess: an app has a few dozen. */
const FILES_MAX = 2000;
/** As much as a brain may have (`brain/files.ts`). */
const FILE_BYTES_MAX = 2 ** 29;
const PATH_CHARS_MAX = 300;
const PATH = /^(?:[A-Za-z0-9_][A-Za-z0-9._+-]*\/)*[A-Za-z0-9_][A-Za-z0-9._+-]*$/;
const BRAIN_ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** Where it is wrong, as a path; null: it is a manifest. */
export function wrongIn(value: unknown): string | null {
  const site = objectOf(value);
  if (site === null || site.v !== 1) return "/v";
  if (typeof site.build !== "string" || !/^[0-9a-f]{1,64}$/.test(site.build)) return "/build";
  const files = wrongFiles(site.files, "/files");
  if (files !== null) return files;
  return wrongParts(site as unknown as SiteJson) ?? wrongBrain(site.brain) ?? wrongFacts(site);
}

function wrongFiles(value: unknown, path: string): string | null {
  const files = objectOf(value);
  if (files === null || Object.keys(files).length > FILES_MAX) return path;
  for (const [name, file] of Object.entries(files)) if (!isPath(name) || !isFile(file)) return `${path}/${name.slice(0, 80)}`;
  return null;
}

function isFile(value: unknown): value is SiteFile {
  const { bytes, sha256 } = objectOf(value) ?? {};
  const sized = Number.isSafeInteger(bytes) && (bytes as number) >= 0 && (bytes as number) <= FILE_BYTES_MAX;
  return sized && typeof sha256 === "string" && /^[0-9a-f]{64}$/.test(sha256);
}

/** Below the site, with no step up and no scheme. */
function isPath(value: unknown): value is string {
  return typeof value === "string" && value.length <= PATH_CHARS_MAX && PATH.test(value) && !value.includes("..");
}

function isFolder(value: unknown): value is string {
  return typeof value === "string" && value.endsWith("/") && isPath(value.slice(0, -1));
}

/** The parts that are fetched by name must be among the files that are listed. */
function wrongParts({ engine, ort, workers, files }: SiteJson): string | null {
  const parts = objectOf(engine);
  if (parts === null || !isFolder(parts.pyodide)) return "/engine/pyodide";
  if (!isPath(parts.stdlib) || !(parts.stdlib in files)) return "/engine/stdlib";
  if (!isPath(parts.archive) || !(parts.archive in files)) return "/engine/archive";
  if (parts.snapshot !== null && !(isPath(parts.snapshot) && parts.snapshot in files)) return "/engine/snapshot";
  if (!isFolder(ort)) return "/ort";
  const both = objectOf(workers) ?? {};
  const lost = ["engine", "brain"].find((kind) => !isPath(both[kind]) || !((both[kind] as string) in files));
  return lost === undefined ? null : `/workers/${lost}`;
}

function wrongBrain(value: unknown): string | null {
  if (value === null) return null;
  const { id, base, precision, files } = (objectOf(value) ?? {}) as Partial<SiteBrain>;
  if (typeof id !== "string" || !BRAIN_ID.test(id)) return "/brain/id";
  if (!isFolder(base) || !base.startsWith("brain/")) return "/brain/base";
  if (typeof precision !== "string") return "/brain/precision";
  return wrongFiles(files, "/brain/files");
}

function wrongFacts({ defaultHost, hosted, brainMissing }: Record<string, unknown>): string | null {
  if (typeof hosted !== "boolean") return "/hosted";
  if (brainMissing !== null && typeof brainMissing !== "string") return "/brainMissing";
  const origin = typeof defaultHost === "string" && URL.canParse(defaultHost) ? new URL(defaultHost) : null;
  const good = origin !== null && origin.origin === defaultHost && /^https?:$/.test(origin.protocol);
  return defaultHost === null || good ? null : "/defaultHost";
}

function objectOf(value: unknown): Record<string, unknown> | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null;
}
