/* The brain's worker: opens one brain, then runs one turn at a time. Between tokens it lets messages in, so that a turn
   that nobody wants any more stops within one. */

import type { Generated } from "../contract.ts";
import { holdVigil } from "../site/vigil.ts";
import { decode, type Watcher } from "./decode.ts";
import { isCrash, messageOf, type OpenBrain, openHere } from "./open.ts";
import { planTurn } from "./plan.ts";
import { BrainProblem, turnFailed } from "./problem.ts";
import { makeReceipt } from "./receipts.ts";
import { readRequest } from "./request.ts";
import { verify, VerifyStopped } from "./verify.ts";
import type { Answer, Ask, FromWorker, OpenMessage, ToWorker } from "./wire.ts";

let brain: OpenBrain | null = null;
/** The turn that shall stop: one runs at a time, and a number is never given twice. */
let stoppedId = 0;

/** A turn through the event loop in microseconds: a timer would wait four milliseconds. */
const { port1: near, port2: far } = new MessageChannel();
const waiting: (() => void)[] = [];
near.onmessage = () => waiting.shift()?.();

function letMessagesIn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    far.postMessage(null);
  });
}

function tell(message: FromWorker): void {
  self.postMessage(message);
}

self.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  if (data.kind === "open") void open(data);
  else if (data.kind === "stop") stoppedId = data.id;
  else void work(data.id, data.ask);
};

async function open(message: OpenMessage): Promise<void> {
  try {
    brain = await openHere(message, (count) => tell({ kind: "bytes", count }));
    await holdVigil(message.vigil ?? null);
    tell({ kind: "opened", info: brain.info });
  } catch (error) {
    if (error instanceof BrainProblem) tell({ kind: "refused", problem: error.shape });
    else tell({ kind: "crashed" });
  }
}

async function work(id: number, ask: Ask): Promise<void> {
  const watcher: Watcher = {
    isCancelled: () => letMessagesIn().then(() => stoppedId === id),
    onText: (soFar) => tell({ kind: "text", id, soFar }),
  };
  try {
    if (!brain) throw turnFailed("brain_closed", "brain", "none", "one that is open");
    const answer =
      ask.kind === "verify" ? await verdictOf(brain, ask, watcher) : await generatedBy(brain, ask, watcher);
    tell(answer === null ? { kind: "stopped", id } : { kind: "answer", id, answer });
  } catch (error) {
    if (error instanceof VerifyStopped) tell({ kind: "stopped", id });
    else if (isCrash(error)) tell({ kind: "crashed" });
    else tell({ kind: "failed", id, problem: problemOf(error).shape });
  }
}

async function verdictOf(here: OpenBrain, { receipt }: Ask & { kind: "verify" }, watcher: Watcher): Promise<Answer> {
  return { kind: "verdict", verdict: await verify(here, receipt, watcher) };
}

/** Null when the turn was stopped: what it wrote until then is nobody's. */
async function generatedBy(here: OpenBrain, ask: Ask & { kind: "generate" }, watcher: Watcher): Promise<Answer | null> {
  const request = readRequest(ask.request);
  const plan = planTurn(request, here.encoder, here.lane.model.config.positionsMax);
  const decoded = await decode(here.lane, plan, watcher);
  const { writer } = decoded;
  if (writer.stop === null || writer.stop === "cancelled") return null;
  const receipt = await makeReceipt(here.identity, here.ortVersion, request, { plan, ...decoded });
  const generated: Generated = { reply: { text: writer.text, stop: writer.stop }, receipt, choices: writer.choices };
  return { kind: "generated", generated };
}

/** ONNX Runtime throws plain errors whose words name tensors and shapes. */
function problemOf(error: unknown): BrainProblem {
  return error instanceof BrainProblem
    ? error
    : turnFailed("ort_failed", "ONNX Runtime", messageOf(error), "a step that runs");
}
