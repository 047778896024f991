/* What an owner sets out to do, as pure steps from one row to the next. Each is one transaction, stored before any
   request leaves. An act that does not fit the row is refused with a stable code and changes nothing. */

import type { Ids } from "./ids.ts";
import type { Connection, Entry, Intent, IntentStep, Row, Stop } from "./layout.ts";
import { connectionOf, isAt, modeOf, nameOf, newestOf, PAST_MAX, wasLiving, withEntry, withNewest } from "./layout.ts";
import { HomeProblem } from "./problems.ts";
import { withSentReturned } from "./wishes.ts";

const TO_OF_STEP: Record<IntentStep, Intent["to"]> = {
  prepare: "remote",
  activate: "remote",
  resume: "remote",
  park: "local",
  delete: null,
  key: "key",
};

/** Moves that may be given up by themselves: nothing was activated, or the pet stays where it is either way. */
const ABANDONABLE: ReadonlySet<IntentStep> = new Set(["prepare", "park", "resume"]);

export function intentTo(step: IntentStep, epoch: number, ids: Ids, more: Partial<Intent> = {}): Intent {
  return { to: TO_OF_STEP[step], step, operationId: ids.uuid(), epoch, ...more };
}

/** The pet of this page sets out for a host. Its executor runs on until the activation is stored. */
export function moveOut(row: Row, host: string, ids: Ids): Row {
  free(row);
  if (modeOf(row) !== "local" || row.kept === null) throw new HomeProblem("not_local");
  const connection = connectionTo(row, host, ids);
  if (row.stops.some((stop) => isAt(stop, connection))) throw new HomeProblem("stop_pending", { host });
  const past = pastBeside(row.entry, connection);
  const entry: Entry = {
    ...row.entry,
    ...connection,
    mode: "local",
    intent: intentTo("prepare", connection.epoch, ids),
    checkpointRevision: newestOf(row)?.revision ?? 0,
    living: row.entry !== null && isAt(row.entry, connection) ? wasLiving(row) : false,
    past,
  };
  return { ...row, entry };
}

function connectionTo(row: Row, host: string, ids: Ids): Connection {
  const known = [row.entry, ...(row.entry?.past ?? [])].find((one) => one?.host === host && one.id !== "");
  return known ? connectionOf(known) : { host, id: ids.uuid(), key: ids.key(), epoch: 1 };
}

/** The connections that stay behind. One at which the pet never lived is not worth a place: nothing of it is there, or
    only what a host forgets within a day. */
function pastBeside(entry: Entry | null, connection: Connection): Connection[] {
  const before = entry !== null && entry.id !== "" && entry.living ? [connectionOf(entry)] : [];
  return [...before, ...(entry?.past ?? [])].filter((one) => !isAt(one, connection)).slice(0, PAST_MAX);
}

/** The pet comes home to this page. */
export function comeHome(row: Row, ids: Ids): Row {
  free(row);
  const entry = hosted(row);
  return withEntry(row, { intent: intentTo("park", entry.epoch, ids) });
}

/** A parked pet lives on at its host. */
export function resumeThere(row: Row, takeover: boolean, ids: Ids): Row {
  free(row);
  const entry = hosted(row);
  if (row.kept === null) throw new HomeProblem("no_checkpoint");
  return withEntry(row, { intent: intentTo("resume", entry.epoch, ids, takeover ? { takeover: true } : {}) });
}

export function changeKey(row: Row, ids: Ids): Row {
  free(row);
  const entry = hosted(row);
  return withEntry(row, { intent: intentTo("key", entry.epoch, ids, { newKey: ids.key() }) });
}

/** The owner deletes the pet, whatever else was under way. A pet that was never on a host is gone at once. */
export function deleteEverywhere(row: Row, ids: Ids): Row {
  const stops = row.stops.map((stop) => (stop.localId === row.localId ? ({ ...stop, kind: "delete" } as Stop) : stop));
  const { entry } = row;
  const [first, ...others] = connectionsOf(entry);
  if (entry === null || first === undefined) return { ...gone(row), stops };
  const newKey = entry.intent?.newKey;
  const intent = intentTo("delete", first.epoch, ids, newKey === undefined ? {} : { newKey });
  return withEntry({ ...row, stops }, { ...first, past: others, intent });
}

/** Every host that may still have something of the pet. */
function connectionsOf(entry: Entry | null): Connection[] {
  if (entry === null) return [];
  return [entry, ...(entry.past ?? [])].filter((one) => one.id !== "").map(connectionOf);
}

/** Nothing of the pet is left in this browser but the stops that hosts have yet to hear. */
export function gone(row: Row): Row {
  return { ...row, kept: null, entry: null, outbox: null };
}

/** The host cannot be reached: the pet lives on here from the newest checkpoint or an older one, and the host is told to
    stop as soon as it can be. Words that were sent there go back to their owner: nobody knows whether they were heard.
    Also the only way to give an activation up. */
export function recover(row: Row, ids: Ids, nowMs: number, from: CopyStamp | null = null): Row {
  const { entry } = row;
  const step = entry?.intent?.step;
  if (entry === null || row.kept === null) throw new HomeProblem("no_checkpoint");
  if (modeOf(row) === "local" ? step !== "activate" : !wasLiving(row)) throw new HomeProblem("not_hosted");
  if (step === "delete") throw new HomeProblem("busy", { step });
  const stop = stopOf(row, entry.intent?.epoch ?? entry.epoch, ids, nowMs);
  const others = row.stops.filter((one) => !isAt(one, entry));
  const alone = withSentReturned({ ...row, stops: [...others, stop] });
  return withEntry(from === null ? alone : backTo(alone, from), { mode: "local", intent: null });
}

/** Which of the copies here is meant. */
export interface CopyStamp {
  atMs: number;
  revision: number;
}

/** The pet as it was in one of the copies here. The one that was newest stays among the older ones. */
export function backTo(row: Row, { atMs, revision }: CopyStamp): Row {
  const copies = row.kept?.checkpoints ?? [];
  const chosen = copies.find((one) => one.atMs === atMs && one.revision === revision);
  if (row.kept === null || chosen === undefined) throw new HomeProblem("no_checkpoint");
  if (chosen === copies[0]) return row;
  const again = { ...chosen, epoch: copies[0]!.epoch, revision: copies[0]!.revision + 1 };
  const checkpoints = [again, ...copies.filter((one) => one !== chosen)];
  const entry = row.entry === null ? null : { ...row.entry, checkpointRevision: again.revision };
  return { ...row, entry, kept: { ...row.kept, checkpoints } };
}

/** A pet of this page whose rules failed goes on from an older copy. */
export function goBack(row: Row, from: CopyStamp): Row {
  free(row);
  if (modeOf(row) !== "local") throw new HomeProblem("not_local");
  return backTo(row, from);
}

export function stopOf(row: Row, epoch: number, ids: Ids, sinceMs: number, at: Connection = hostedOrNot(row)): Stop {
  const newKey = row.entry?.intent?.newKey;
  return {
    ...connectionOf(at),
    epoch,
    stopId: ids.uuid(),
    localId: row.localId,
    kind: "park",
    operationId: ids.uuid(),
    name: nameOf(row),
    sinceMs,
    ...(newKey === undefined ? {} : { otherKey: newKey }),
  };
}

/** The copy goes on as a pet of its own; the old connection is kept aside and never used again. */
export function asAnother(row: Row): Row {
  const { entry } = row;
  if (row.kept === null) throw new HomeProblem("no_checkpoint");
  if (entry === null) return row;
  const former = entry.id === "" ? (entry.former ?? []) : [connectionOf(entry), ...(entry.former ?? [])];
  const stops = row.stops.filter((stop) => !isAt(stop, entry));
  const left = { former: former.slice(0, PAST_MAX), past: entry.past ?? [] };
  return { ...withSentReturned(row), stops, entry: { ...unconnected(entry), ...left } };
}

function unconnected(entry: Entry): Entry {
  return { ...entry, host: "", id: "", key: "", epoch: 0, intent: null, mode: "local", living: false };
}

/** The owner keeps the copy here: the one at the host is stopped under the epoch that was told. */
export function keepHere(row: Row, toldEpoch: number, ids: Ids, nowMs: number): Row {
  const entry = hostedOrNot(row);
  const stop = stopOf(row, toldEpoch, ids, nowMs);
  const others = row.stops.filter((one) => !isAt(one, entry));
  return withEntry({ ...row, stops: [...others, stop] }, { mode: "local", intent: null });
}

/** The owner keeps the copy at the host: this page follows it. What was lived here stays among the older checkpoints.
 */
export function keepThere(row: Row): Row {
  const entry = hostedOrNot(row);
  const stops = row.stops.filter((one) => !isAt(one, entry));
  const following = withEntry({ ...row, stops }, { mode: "remote", intent: null, living: true });
  return restamped(following, { epoch: 0, revision: 0 }, { apart: true });
}

/** The newest copy under another stamp: what counts from now on is the host's word. */
export function restamped(row: Row, stamp: { epoch: number; revision: number }, options = {}): Row {
  const newest = newestOf(row);
  return newest === null ? row : withNewest(row, { ...newest, ...stamp }, options);
}

export function isAbandonable(intent: Intent): boolean {
  return ABANDONABLE.has(intent.step);
}

/** Gives a move up. An activation may already have happened and is never given up by itself (docs/reliability.md). */
export function abandon(row: Row): Row {
  const intent = row.entry?.intent ?? null;
  if (intent === null) return row;
  if (!isAbandonable(intent)) throw new HomeProblem("not_safe", { step: intent.step });
  return withEntry(row, { intent: null });
}

function free(row: Row): void {
  const step = row.entry?.intent?.step;
  if (step !== undefined) throw new HomeProblem("busy", { step });
}

function hosted(row: Row): Entry {
  if (row.entry === null || modeOf(row) !== "remote") throw new HomeProblem("not_hosted");
  return row.entry;
}

function hostedOrNot(row: Row): Entry {
  if (row.entry === null || row.entry.id === "") throw new HomeProblem("not_hosted");
  return row.entry;
}
