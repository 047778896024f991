/* Why a page could not start, as a key of the table of strings: each fault has its own sentence, and only a browser that
   keeps nothing is told so. Pure. */

export interface Fault {
  key: string;
  /** What stands in for `{code}`: the class of an unforeseen error, never its message. */
  code: string;
}

const RECORDS = new Set(["records_too_new", "records_broken", "records_failed", "records_blocked", "storage_full"]);
/** What browsers throw, or have not got, where a page may keep nothing. */
const NO_STORAGE = new Set(["SecurityError", "InvalidStateError", "UnknownError"]);

/** `here`: whether this browser has an IndexedDB at all. */
export function startFault(error: unknown, here: boolean): Fault {
  const { code, path, name, fields } = (error ?? {}) as Record<string, unknown>;
  if (name === "SiteProblem") return { key: code === "not_a_site" ? "problem.not_a_site" : "problem.no_site", code: String(path ?? "") };
  const inner = (fields as { name?: unknown } | undefined)?.name;
  if (!here || NO_STORAGE.has(String(name)) || (code === "records_failed" && NO_STORAGE.has(String(inner))))
    return { key: "problem.no_storage", code: "" };
  if (typeof code === "string" && RECORDS.has(code)) return { key: `problem.${code}`, code };
  return { key: "problem.start_failed", code: typeof code === "string" ? code : String(name ?? "fault").slice(0, 40) };
}

/** A load's fault as a stable word: the part's own code where it has one. */
export function loadFault(error: unknown): string {
  const { code, name } = (error ?? {}) as Record<string, unknown>;
  if (typeof code === "string") return code;
  return typeof name === "string" ? name : "failed";
}
