/* What the page and the engine's worker say to each other. */

export interface StartMessage {
  kind: "start";
  /** Absolute addresses; `pyodide` is a directory with a slash behind. */
  pyodide: string;
  archive: string;
  snapshot: string | null;
}

export interface CallMessage {
  kind: "call";
  id: number;
  name: string;
  /** JSON, written by the page: integers stay below 2^53. */
  argumentsJson: string;
}

export type ToWorker = StartMessage | CallMessage;

export type FromWorker =
  | { kind: "progress"; loaded: number }
  | { kind: "ready"; startedFrom: "snapshot" | "files"; snapshotProblem: string | null }
  | { kind: "failed"; reason: string }
  | { kind: "answer"; id: number; json: string }
  /** A fault of the rules: the exception's class and its frames, never a value. */
  | { kind: "fault"; id: number; error: string; frames: string[] }
  /** The interpreter itself is gone. */
  | { kind: "crashed"; id: number };
