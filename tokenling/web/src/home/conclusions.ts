/* What a page concludes from an answer, as data: (row, request, answer) to the next row and what to do then.

   This follows the pure model that was simulated (tests/simulation/sim_browser.py), answer for answer. Where it differs
   it is because a page has several hosts, and asks where the model chooses; each place says so. Only *definite* answers
   come here: silence, 408, 429 and 5xx conclude nothing, the stored step is done again. */

import type { JsonObject } from "../contract.ts";
import type { Ids } from "./ids.ts";
import { asAnother, gone, intentTo, keepHere, keepThere, restamped } from "./intents.ts";
import type { Checkpoint, Intent, Row, Stamp, Stop } from "./layout.ts";
import { checkpointed, connectionOf, isAt, isOlder, modeOf, newestOf, withEntry, withNewest } from "./layout.ts";
import { withSentReturned } from "./wishes.ts";

export interface Answer {
  status: number;
  code: string;
  epoch: number;
  revision: number;
  /** What the host says the pet is: in a refusal `petStatus`, in an answer `status`. */
  petStatus: string;
  save: JsonObject | null;
  /** Why the save that came is not taken for this pet, if it is not: a stable word (`welcome.ts`). */
  saveProblem?: string | null;
  serverTime: number | null;
  fields: JsonObject;
}

export type MoveRequest =
  | { kind: "prepare"; save: JsonObject }
  | { kind: "transfer"; to: "remote"; operationId: string; epoch: number; save: JsonObject; takeover: boolean }
  | { kind: "transfer"; to: "local"; operationId: string; epoch: number }
  | { kind: "key"; operationId: string; epoch: number; newKey: string }
  | { kind: "delete"; key: string }
  | { kind: "view"; key: string };

/** `repeat`: ask again under the same intent, now. `settled`: no intent is left. `question` and `problem` wait for the
    owner; both are found out anew after a reload, for the same step is done again. */
export type Then =
  | { kind: "settled" }
  | { kind: "next" }
  | { kind: "ask"; request: MoveRequest }
  | { kind: "question"; question: Told }
  | { kind: "problem"; code: string; fields: JsonObject }
  | { kind: "gone" };

/** What a question rests on. `two_places`: another copy lives at the host under `toldEpoch`, or, with `otherDevice`,
    was handed to another device. `lost`: the host forgot the pet, or knows it under another key. */
export interface Told {
  kind: "two_places" | "lost";
  toldEpoch: number;
  otherDevice: boolean;
}

export interface Conclusion {
  row: Row;
  then: Then;
}

/** What chance and time a conclusion needs. */
export interface Means {
  ids: Ids;
  nowMs: number;
}

/** The request that the stored intent stands for. Null for a step that this version does not know. */
export function requestOf(row: Row): MoveRequest | null {
  const intent = row.entry?.intent ?? null;
  const newest = newestOf(row);
  if (intent === null || row.entry === null) return null;
  const { operationId, epoch } = intent;
  switch (intent.step) {
    case "prepare":
      return newest && { kind: "prepare", save: newest.save };
    case "activate":
    case "resume":
      return (
        newest && {
          kind: "transfer",
          to: "remote",
          operationId,
          epoch,
          save: newest.save,
          takeover: intent.takeover ?? false,
        }
      );
    case "park":
      return { kind: "transfer", to: "local", operationId, epoch };
    case "key":
      return intent.newKey === undefined ? null : { kind: "key", operationId, epoch, newKey: intent.newKey };
    case "delete":
      return { kind: "delete", key: row.entry.key };
    default:
      return null;
  }
}

/** `intent` is the one that the request was made for: an answer to another one concludes nothing. */
export function conclude(row: Row, intent: Intent, request: MoveRequest, answer: Answer, means: Means): Conclusion {
  const stored = row.entry?.intent ?? null;
  if (stored === null) return { row, then: { kind: "settled" } };
  if (stored.step !== intent.step || stored.operationId !== intent.operationId) return { row, then: { kind: "next" } };
  if (request.kind === "prepare") return prepared(row, stored, answer, means);
  if (request.kind === "view") return viewed(row, stored, request, answer);
  switch (stored.step) {
    case "activate":
      return activated(row, stored, answer);
    case "resume":
      return resumed(row, answer);
    case "park":
      return parked(row, answer, means);
    case "key":
      return rekeyed(row, stored, answer);
    default:
      return deleted(row, answer, request.kind === "delete" ? request.key : "");
  }
}

const settled = (row: Row): Conclusion => ({ row, then: { kind: "settled" } });
const problem = (row: Row, answer: Answer): Conclusion => ({
  row,
  then: { kind: "problem", code: answer.code, fields: answer.fields },
});
const lost = (row: Row): Conclusion => ({
  row,
  then: { kind: "question", question: { kind: "lost", toldEpoch: 0, otherDevice: false } },
});
const twoPlaces = (row: Row, toldEpoch: number, otherDevice = false): Conclusion => ({
  row,
  then: { kind: "question", question: { kind: "two_places", toldEpoch, otherDevice } },
});

// --- to a host -----------------------------------------------------------------------------------------------------

function prepared(row: Row, intent: Intent, answer: Answer, means: Means): Conclusion {
  const done = answer.status === 200 || answer.status === 201;
  if (answer.code === "id_taken" || answer.code === "pet_deleted") return lost(row);
  if (!done) return problem(row, answer);
  if (answer.epoch < intent.epoch) return lost(row); // the host forgot what was here
  if (intent.step === "activate") return { row, then: { kind: "next" } }; // its prepared record had expired
  if (answer.petStatus === "active") return twoPlaces(row, answer.epoch);
  if (answer.petStatus === "quarantined") return settled(keepHere(row, answer.epoch, means.ids, means.nowMs));
  const activate = intentTo("activate", answer.epoch, means.ids);
  return { row: withEntry(row, { epoch: answer.epoch, intent: activate }), then: { kind: "next" } };
}

function activated(row: Row, intent: Intent, answer: Answer): Conclusion {
  if (answer.status === 200) return settled(movedIn(row, answer));
  if (answer.status === 404) {
    const newest = newestOf(row);
    return newest
      ? { row, then: { kind: "ask", request: { kind: "prepare", save: newest.save } } }
      : problem(row, answer);
  }
  if (answer.petStatus === "active") return twoPlaces(row, answer.epoch);
  // the model chooses the other device's copy by itself; a page asks, for its own has lived on
  if (answer.code === "other_device") return twoPlaces(row, answer.epoch || intent.epoch, true);
  if (answer.epoch > 0 && answer.epoch < intent.epoch) return lost(row);
  if (answer.epoch > intent.epoch)
    return { row, then: { kind: "ask", request: { kind: "view", key: row.entry!.key } } };
  return problem(row, answer);
}

/** What was seen of another stay on a host says nothing of this one: the stamp is the host's. */
function movedIn(row: Row, answer: Answer): Row {
  const stamp = { epoch: answer.epoch, revision: answer.revision };
  const there = withEntry(row, { epoch: answer.epoch, mode: "remote", intent: null, living: true });
  return restamped(there, stamp);
}

function resumed(row: Row, answer: Answer): Conclusion {
  const done = withEntry(row, { intent: null });
  if (answer.status === 200) {
    const newest = newestOf(row);
    const stamp: Stamp = { epoch: answer.epoch, revision: answer.revision };
    return settled(newest && isOlder(stamp, newest) ? done : movedIn(done, answer));
  }
  if (answer.status === 404) return { row: done, then: { kind: "gone" } };
  return problem(done, answer);
}

// --- home ----------------------------------------------------------------------------------------------------------

function parked(row: Row, answer: Answer, means: Means): Conclusion {
  const done = withEntry(row, { intent: null });
  if (answer.status === 404) return { row: done, then: { kind: "gone" } };
  if (answer.status !== 200) return problem(done, answer);
  // the copy here stays the newest, and the intent: a page that can live that save takes it at its next start
  if (answer.saveProblem) return { row, then: { kind: "problem", code: answer.saveProblem, fields: {} } };
  // the save of a very old repeat is kept no more: the pet stays remote, and parking it again brings one
  if (answer.save === null || modeOf(row) !== "remote") return settled(done);
  const { epoch, revision, save } = answer;
  const turnsDue = connectionOf(done.entry!);
  const home = withEntry(done, { mode: "local", epoch, living: true, turnsDue });
  return settled(withNewest(home, { atMs: answer.serverTime ?? means.nowMs, epoch, revision, save }));
}

// --- keys and ends -------------------------------------------------------------------------------------------------

function rekeyed(row: Row, intent: Intent, answer: Answer): Conclusion {
  if (answer.status === 200) return settled(withEntry(row, { key: intent.newKey!, intent: null }));
  if (answer.status === 404) return { row, then: { kind: "ask", request: { kind: "view", key: intent.newKey! } } };
  return problem(withEntry(row, { intent: null }), answer);
}

/** A deletion goes on through the hosts at which the pet is parked; the last answer takes it out. */
function deleted(row: Row, answer: Answer, key: string): Conclusion {
  if (![204, 404, 410].includes(answer.status)) return problem(row, answer);
  const intent = row.entry!.intent!;
  if (answer.status === 404 && intent.newKey !== undefined && intent.newKey !== key)
    return { row, then: { kind: "ask", request: { kind: "delete", key: intent.newKey } } };
  const [next, ...past] = row.entry!.past ?? [];
  if (next === undefined) return settled(gone(row));
  const { newKey: _, ...again } = intent;
  return { row: withEntry(row, { ...connectionOf(next), past, intent: again }), then: { kind: "next" } };
}

/** A view that was asked for to make something out: whether a changed key fits, or where an activation's pet went. */
function viewed(row: Row, intent: Intent, request: { key: string }, answer: Answer): Conclusion {
  if (intent.step === "key") {
    if (answer.status === 200) return settled(withEntry(row, { key: request.key, intent: null }));
    return { row: withEntry(row, { intent: null }), then: { kind: "gone" } };
  }
  if (answer.status === 200 && answer.epoch > intent.epoch) return twoPlaces(row, answer.epoch);
  return problem(row, answer);
}

// --- snapshots -----------------------------------------------------------------------------------------------------

/** How a snapshot stands to the copy here. `back`: the host itself went back, an old backup was put in place. */
export type Age = "newer" | "same" | "older" | "back";

/** An older snapshot is ignored, unless it was asked for after the newest was here: then the host went back. */
export function ageOf(seen: Stamp | null, view: Stamp, askedAfterSeen: boolean): Age {
  if (seen === null || isOlder(seen, view)) return "newer";
  if (!isOlder(view, seen)) return "same";
  return askedAfterSeen ? "back" : "older";
}

/** Whether two saves are of one pet: its seed is drawn once and never changes. */
export function isSamePet(held: JsonObject, found: JsonObject): boolean {
  return held.petSeed === found.petSeed;
}

/** The row with a snapshot as the newest copy. While an upload is under way the copy must stay what was uploaded. */
export function snapshotTaken(row: Row, view: Checkpoint, age: Age): Row {
  const step = row.entry?.intent?.step;
  if (row.entry === null || modeOf(row) !== "remote" || age === "older") return row;
  if (step === "resume" || step === "activate" || step === "delete") return row;
  const newest = newestOf(row);
  if (newest !== null && !isSamePet(newest.save, view.save)) return row;
  if (newest !== null && age !== "back" && isOlder(view, newest)) return row;
  return checkpointed(row, view, { apart: age === "back" });
}

/** What a page that runs its pet itself concludes from a look at the host where the pet was last. */
export function lookedAround(row: Row, answer: Answer): Told | null {
  const { entry } = row;
  if (entry === null || entry.id === "" || modeOf(row) !== "local" || answer.status !== 200) return null;
  if (row.stops.some((stop) => isAt(stop, entry))) return null;
  const known = entry.intent?.epoch ?? entry.epoch;
  const lives = answer.petStatus === "active" && answer.epoch === known && entry.intent === null;
  if (answer.epoch <= known && !lives) return null;
  return { kind: "two_places", toldEpoch: answer.epoch, otherDevice: false };
}

/** The owner's answer to a question of a pet that is not about a stop. */
export function questionResolved(row: Row, told: Told, keep: "here" | "there" | "another", means: Means): Row {
  if (keep === "another" || (keep === "here" && (told.otherDevice || told.kind === "lost"))) return asAnother(row);
  return keep === "here" ? keepHere(row, told.toldEpoch, means.ids, means.nowMs) : keepThere(row);
}

// --- stops ---------------------------------------------------------------------------------------------------------

/** What became of a stop: `delivered`, `again` at once, `asks` the owner which copy to keep, `waits` for another try.
 */
export interface StopConclusion {
  row: Row;
  then: { kind: "delivered" | "again" | "waits" } | { kind: "asks"; told: Told };
}

/** `row` is the row of the stop's pet (its `kept` and `entry` null when that is gone). */
export function stopAnswered(row: Row, stop: Stop, answer: Answer, means: Means): StopConclusion {
  if (!row.stops.some((one) => one.stopId === stop.stopId)) return { row, then: { kind: "delivered" } };
  const left = { ...row, stops: row.stops.filter((one) => one.stopId !== stop.stopId) };
  const own = row.entry !== null && isAt(row.entry, stop) && modeOf(row) === "local";
  if (answer.status === 404 && stop.otherKey !== undefined)
    return { row: withOtherKey(left, stop), then: { kind: "again" } };
  if ([200, 204, 404, 410].includes(answer.status))
    return { row: own ? stopped(left, answer) : left, then: { kind: "delivered" } };
  if (stop.kind === "delete") return { row, then: { kind: "waits" } };
  const elsewhere = row.kept !== null && !(row.entry !== null && isAt(row.entry, stop) && modeOf(row) === "remote");
  if (answer.petStatus === "active" || answer.code === "other_device") {
    if (!elsewhere) return { row: left, then: { kind: "delivered" } };
    const otherDevice = answer.code === "other_device"; // here, too, the owner is asked
    return {
      row,
      then: { kind: "asks", told: { kind: "two_places", toldEpoch: answer.epoch || stop.epoch, otherDevice } },
    };
  }
  if (answer.epoch === 0) return { row, then: { kind: "waits" } };
  const again = { ...stop, epoch: answer.epoch, operationId: means.ids.uuid() };
  return { row: { ...left, stops: [...left.stops, again] }, then: { kind: "again" } };
}

/** Its save never overwrites what was lived here. A host that knows the pet no more may know it under a changed key:
    the copy here goes on as another pet (rule 4 of docs/reliability.md). */
function stopped(left: Row, answer: Answer): Row {
  return answer.status === 200 ? withEntry(left, { epoch: answer.epoch }) : asAnother(left);
}

function withOtherKey(left: Row, stop: Stop): Row {
  const { otherKey, ...plain } = stop;
  const turned = { ...plain, key: otherKey! };
  const own = left.entry !== null && isAt(left.entry, stop);
  const row = own ? withEntry(left, { key: otherKey! }) : left;
  return { ...row, stops: [...row.stops, turned] };
}

/** The owner's answer to a stop that asks. */
export function stopResolved(row: Row, stop: Stop, keep: "here" | "there", told: Told, means: Means): Row {
  const stops = row.stops.filter((one) => one.stopId !== stop.stopId);
  const left = { ...row, stops };
  const own = row.entry !== null && isAt(row.entry, stop);
  if (keep === "here") {
    if (told.otherDevice) return own ? asAnother(left) : left; // the id is the other device's now
    const again = { ...stop, epoch: told.toldEpoch, operationId: means.ids.uuid() };
    return { ...left, stops: [...stops, again] };
  }
  return own ? keepThere(left) : followed(left, stop, means);
}

/** The pet lives on at the host of an old stop; where it lived meanwhile is stopped in its turn. */
function followed(left: Row, stop: Stop, means: Means): Row {
  const { entry } = left;
  const leaving = entry !== null && entry.id !== "" && modeOf(left) === "remote" ? [leavingStop(left, means)] : [];
  const connection = connectionOf(stop);
  const base = entry ?? { checkpointRevision: 0 };
  const row: Row = {
    ...withSentReturned(left),
    stops: [...left.stops, ...leaving],
    entry: { ...base, ...connection, intent: null, mode: "remote", living: true },
  };
  return restamped(row, { epoch: 0, revision: 0 }, { apart: true });
}

function leavingStop(row: Row, means: Means): Stop {
  const entry = row.entry!;
  const { uuid } = means.ids;
  return {
    ...connectionOf(entry),
    stopId: uuid(),
    localId: row.localId,
    kind: "park",
    operationId: uuid(),
    name: "",
    sinceMs: means.nowMs,
  };
}
