/* The page's decisions as a process: one JSON line in, one out, nothing kept between. `tests/simulation/sim_app.py`
   puts them into the simulated world in place of the model, so that what was simulated is what the page does. */

import readline from "node:readline";

import * as conclusions from "../../src/home/conclusions.ts";
import type { Ids } from "../../src/home/ids.ts";
import * as intents from "../../src/home/intents.ts";
import type { Checkpoint, Row } from "../../src/home/layout.ts";
import { checkpointed, committed, mayRun, modeOf, newestOf, wasLiving, withEntry } from "../../src/home/layout.ts";

const HOST = "https://host.example";

interface Asked {
  act: string;
  row: Row;
  name: string;
  count: number;
  // eslint-disable-next-line: the Python side is the only caller
  given: never;
}

type Outcome = { row: Row; then?: unknown };
type Act = (row: Row, given: any, means: conclusions.Means) => Outcome;

const acts: Record<string, Act> = {
  adopt: (row, { save }) => ({
    row: { ...row, kept: { v: 1, checkpoints: [{ atMs: 0, epoch: 0, revision: 1, save }] }, entry: null },
  }),
  live: (row, { save }) => ({ row: committed(row, { read: newestOf(row)!.revision, save, nowMs: 0 }) }),
  move_out: (row, _, { ids }) => ({
    row: row.entry?.intent?.step === "prepare" ? row : intents.moveOut(row, HOST, ids),
  }),
  come_home: (row, _, { ids }) => ({ row: intents.comeHome(row, ids) }),
  resume: (row, { takeover }, { ids }) => ({ row: intents.resumeThere(row, takeover, ids) }),
  change_key: (row, _, { ids }) => ({ row: intents.changeKey(row, ids) }),
  remove: (row, _, { ids }) => ({ row: intents.deleteEverywhere(row, ids) }),
  recover: (row, _, { ids, nowMs }) => ({ row: intents.recover(row, ids, nowMs) }),
  forget: (row) => ({ row: intents.gone(row) }),
  as_another: (row) => ({ row: intents.asAnother(row) }),
  join: (row, { view, card }) => ({ row: joined(row, view, card) }),
  rekey: (row, { key }) => ({ row: withEntry(row, { key }) }),
  conclude: (row, { intent, request, answer }, means) => conclusions.conclude(row, intent, request, answer, means),
  snapshot: (row, { view, after }) => {
    const age = conclusions.ageOf(newestOf(row), view, after);
    return { row: conclusions.snapshotTaken(row, view, age), then: age };
  },
  look: (row, { answer }) => ({ row, then: conclusions.lookedAround(row, answer) }),
  stop_answered: (row, { stop, answer }, means) => conclusions.stopAnswered(row, stop, answer, means),
  stop_resolved: (row, { stop, told, keep }, means) => ({
    row: conclusions.stopResolved(row, stop, keep, told, means),
  }),
  resolved: (row, { told, keep }, means) => ({ row: conclusions.questionResolved(row, told, keep, means) }),
};

function joined(row: Row, view: Checkpoint, card: { id: string; key: string }): Row {
  const entry = { ...card, host: HOST, epoch: view.epoch, intent: null, checkpointRevision: 0 };
  return checkpointed({ ...intents.gone(row), entry }, view);
}

/** Counted ids: a life is repeatable from its seed. */
function idsOf(name: string, count: { now: number }): Ids {
  const next = (kind: string) => `${kind}-${name}-${(count.now += 1)}`;
  return { uuid: () => next("id"), key: () => next("key") };
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  const { act, row, name, count, given } = JSON.parse(line) as Asked;
  const counted = { now: count };
  let answer: object;
  try {
    const { row: after, then = null } = acts[act]!(row, given, { ids: idsOf(name, counted), nowMs: 0 });
    const seen = {
      mode: modeOf(after),
      running: mayRun(after),
      living: wasLiving(after),
      request: conclusions.requestOf(after),
    };
    answer = { row: after, then, seen, count: counted.now };
  } catch (error) {
    answer = { refused: (error as { code?: string }).code ?? String(error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
