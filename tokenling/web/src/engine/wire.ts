/* What the page and the engine's worker say to each other. */

import type { ListedFile } from "../site/site.ts";

export interface StartMessage {
  kind: "start";
  /** The absolute address of a directory, with a slash behind. */
  pyodide: string;
  /** The absolute address of Python's library, compiled. */
  stdlib: string;
  archive: ListedFile;
  snapshot: ListedFile | null;
  /** The lock that the worker holds while it lives. */
  vigil: string | null;
}

export interface CallMessage {
  kind: "call";
  id: number;
  name: string;
  /** JSON, written by the page: integers stay below 2^53. */
  argumentsJson: string;
}

/** Why an engine did not start: its files did not come, one is not what the site lists, or something else. */
export type StartFault = "unreachable" | "changed" | "failed";

export type ToWorker = StartMessage | CallMessage;

export type FromWorker =
  | { kind: "progress"; loaded: number }
  | { kind: "ready"; startedFrom: "snapshot" | "files"; snapshotProblem: string | null }
  | { kind: "failed"; code: StartFault; reason: string }
  | { kind: "answer"; id: number; json: string }
  /** A fault of the rules: the exception's class and its frames, never a value. */
  | { kind: "fault"; id: number; error: string; frames: string[] }
  /** The interpreter itself is gone. */
  | { kind: "crashed"; id: number };
