/* What this site is made of: `app/site.json`, written by `build.mjs` and completed by whoever serves it with its brain. */

import { wrongIn } from "./manifest.ts";

export interface SiteFile {
  bytes: number;
  sha256: string;
}

export interface SiteBrain {
  id: string;
  /** Directory of its files, relative to the site's root, with a slash behind. */
  base: string;
  precision: string;
  /** By path below `base`. Only what a page needs: manifest, config, tokenizer, one graph and its data. */
  files: Record<string, SiteFile>;
}

export interface SiteJson {
  v: 1;
  /** Changes with every byte of the app. */
  build: string;
  engine: { pyodide: string; stdlib: string; archive: string; snapshot: string | null };
  ort: string;
  workers: { engine: string; brain: string };
  /** Every file of the app by path below the site's root. */
  files: Record<string, SiteFile>;
  brain: SiteBrain | null;
  /** Why no brain comes with this site, when none does: a stable word. */
  brainMissing: string | null;
  /** The id of the brain that the host of this site runs its pets on; null for a site without a host. */
  hostBrain?: string | null;
  /** The host that a move offers first; null: the site's own origin when that is a host. */
  defaultHost: string | null;
  /** Whether a pet host serves this site. */
  hosted: boolean;
}

export interface Site extends SiteJson {
  /** The root, an absolute address with a slash behind. */
  root: string;
}

export class SiteProblem extends Error {
  override name = "SiteProblem";
  constructor(
    readonly code: "unreachable" | "not_a_site",
    /** Where the manifest is wrong. */
    readonly path = "",
  ) {
    super(`the site's manifest: ${code}${path === "" ? "" : ` at ${path}`}`);
  }
}

/** A few dozen files of the app and of a brain. A guess, many times over. */
const SITE_BYTES_MAX = 200_000;

/** Reads the manifest. Rejects with a `SiteProblem`. */
export async function openSite(root: string): Promise<Site> {
  let text: string;
  try {
    const answer = await fetch(new URL("app/site.json", root), { cache: "no-cache" });
    if (!answer.ok) throw new SiteProblem("unreachable");
    text = await answer.text();
  } catch {
    throw new SiteProblem("unreachable");
  }
  const found = readSite(text);
  return { ...found, root };
}

export function readSite(text: string): SiteJson {
  let value: unknown;
  try {
    value = text.length <= SITE_BYTES_MAX ? JSON.parse(text) : null;
  } catch {
    value = null;
  }
  const wrong = wrongIn(value);
  if (wrong !== null) throw new SiteProblem("not_a_site", wrong);
  return value as SiteJson;
}

export function addressOf(site: Site, path: string): string {
  return new URL(path, site.root).href;
}

/** A file of the app: where it lies, and what it must be. */
export interface ListedFile {
  url: string;
  sha256: string;
}

export function listedFile(site: Site, path: string): ListedFile {
  return { url: addressOf(site, path), sha256: site.files[path]!.sha256 };
}

/** Bytes of the site's files below any of these beginnings. */
export function bytesOf(site: SiteJson, ...beginnings: string[]): number {
  return Object.entries(site.files)
    .filter(([path]) => beginnings.some((beginning) => path.startsWith(beginning)))
    .reduce((sum, [, file]) => sum + file.bytes, 0);
}
