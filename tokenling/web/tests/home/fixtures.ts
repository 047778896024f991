/* Rows, answers and ids for tests of the pure parts. */

import type { JsonObject } from "../../src/contract.ts";
import type { Answer } from "../../src/home/conclusions.ts";
import type { Ids } from "../../src/home/ids.ts";
import type { Connection, Entry, Intent, Row, Stop } from "../../src/home/layout.ts";

export const NOW_MS = 1_780_315_200_000;
export const HOST = "https://alder.example";
export const OTHER_HOST = "https://birch.example";
export const KEY = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
export const PET_ID = "11111111-1111-4111-8111-111111111111";

export function countingIds(): Ids {
  let count = 0;
  const next = () => String((count += 1)).padStart(12, "0");
  return { uuid: () => `00000000-0000-4000-8000-${next()}`, key: () => `key-${next()}` };
}

export function saveOf(mark: string): JsonObject {
  return { v: 2, name: "Pip", mark };
}

export function connection(change: Partial<Connection> = {}): Connection {
  return { host: HOST, id: PET_ID, key: KEY, epoch: 3, ...change };
}

export function intent(step: Intent["step"], change: Partial<Intent> = {}): Intent {
  const to = { prepare: "remote", activate: "remote", resume: "remote", park: "local", key: "key", delete: null }[step];
  return { to: to as Intent["to"], step, operationId: `op-${step}`, epoch: 3, ...change };
}

export function entry(change: Partial<Entry> = {}): Entry {
  return { ...connection(), intent: null, checkpointRevision: 7, mode: "remote", living: true, ...change };
}

export function row(change: Partial<Row> = {}): Row {
  const kept = { v: 1 as const, checkpoints: [{ atMs: NOW_MS, epoch: 3, revision: 7, save: saveOf("newest") }] };
  return { localId: "pip", deviceId: "device", kept, entry: entry(), stops: [], outbox: null, ...change };
}

export function localRow(change: Partial<Entry> = {}): Row {
  return row({ entry: entry({ mode: "local", ...change }) });
}

export function stop(change: Partial<Stop> = {}): Stop {
  return {
    ...connection(),
    stopId: "stop",
    localId: "pip",
    kind: "park",
    operationId: "op-stop",
    name: "Pip",
    sinceMs: NOW_MS,
    ...change,
  };
}

export function answer(status: number, change: Partial<Answer> = {}): Answer {
  return {
    status,
    code: "",
    epoch: 0,
    revision: 0,
    petStatus: "",
    save: null,
    serverTime: null,
    fields: {},
    ...change,
  };
}
