/* What the page and the brain's worker say to each other. */

import type { BrainInfo, Generated, GenerationRequest, OwnerReceipt, Verdict } from "../contract.ts";
import type { FileAt } from "./files.ts";
import type { ProblemShape } from "./problem.ts";

/** Where everything lies; all addresses are absolute. */
export interface OpenMessage {
  kind: "open";
  /** The two files of onnxruntime-web. */
  ort: { module: string; wasm: FileAt };
  brain: { id: string; precision: string; files: Record<string, FileAt> };
  /** The lock that the worker holds while it lives. */
  vigil?: string;
}

export type Ask = { kind: "generate"; request: GenerationRequest } | { kind: "verify"; receipt: OwnerReceipt };
export type ToWorker = OpenMessage | { kind: "ask"; id: number; ask: Ask } | { kind: "stop"; id: number };

export type Answer = { kind: "generated"; generated: Generated } | { kind: "verdict"; verdict: Verdict };
export type FromWorker =
  | { kind: "bytes"; count: number }
  | { kind: "opened"; info: BrainInfo }
  | { kind: "refused"; problem: ProblemShape }
  | { kind: "text"; id: number; soFar: string }
  | { kind: "answer"; id: number; answer: Answer }
  | { kind: "failed"; id: number; problem: ProblemShape }
  | { kind: "stopped"; id: number }
  /** The worker cannot be used any more: another one must take over. */
  | { kind: "crashed" };
