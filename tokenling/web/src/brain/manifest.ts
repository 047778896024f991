/* `brain.json`, checked, and held against the files that came. A foreign export has none: then the site's list alone
   says what its files are. */

import { brainRefused } from "./problem.ts";
import { isObject } from "./request.ts";

export interface Manifest {
  id: string;
  features: readonly string[];
  promptVersion: number;
  /** SHA-256 in lower-case hex by path. */
  files: Readonly<Record<string, string>>;
}

/** Of a foreign export: nothing says which prompts it was trained on. */
const PROMPT_VERSION_UNKNOWN = 0;
/** A guess: the engine has a handful. */
const FEATURES_MAX = 64;

/** The manifest in `brain.json`, or, without one, that of a foreign export. */
export function readManifest(document: Record<string, unknown> | null, id: string): Manifest {
  if (document === null) return { id, features: [], promptVersion: PROMPT_VERSION_UNKNOWN, files: {} };
  const { features, promptVersion, files } = document;
  if (document["id"] !== id)
    throw brainRefused("id_mismatch", "brain.json id", document["id"], `${id}, as the site says`);
  if (typeof promptVersion !== "number" || !Number.isInteger(promptVersion) || promptVersion < 1) {
    throw brainRefused("manifest_field", "brain.json promptVersion", promptVersion, "a positive integer");
  }
  if (
    !Array.isArray(features) ||
    features.length > FEATURES_MAX ||
    !features.every((entry) => typeof entry === "string")
  ) {
    throw brainRefused("manifest_field", "brain.json features", features, `a list of at most ${FEATURES_MAX} strings`);
  }
  return { id, features, promptVersion, files: digestsIn(files) };
}

function digestsIn(value: unknown): Record<string, string> {
  if (!isObject(value) || Object.keys(value).length === 0) {
    throw brainRefused("manifest_field", "brain.json files", value, "an object of file names and SHA-256 digests");
  }
  return Object.fromEntries(
    Object.entries(value).map(([name, digest]) => {
      if (typeof digest === "string" && /^[0-9a-f]{64}$/.test(digest)) return [name, digest];
      throw brainRefused("manifest_field", `brain.json files ${name}`, digest, "64 lower-case hex digits");
    }),
  );
}

/** Each file that is used must be listed with its digest; a foreign export lists none. */
export function checkDigests(manifest: Manifest, digests: Readonly<Record<string, string>>): void {
  if (Object.keys(manifest.files).length === 0) return;
  for (const [name, digest] of Object.entries(digests)) {
    const listed = manifest.files[name];
    if (listed === undefined)
      throw brainRefused("file_unlisted", `brain.json files ${name}`, "no digest", "the file's SHA-256");
    if (listed !== digest) throw brainRefused("file_changed", name, `SHA-256 ${digest}`, `${listed}, as in brain.json`);
  }
}
