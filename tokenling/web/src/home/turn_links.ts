/* Turn receipts with the turns that they are of. A receipt holds its turn's seed, and a seed is the draw
   SHA-256(pet seed, "turn", turn id) modulo 2^53: so a host's receipt, which names no turn, is found again among the
   turns that the save's chat and diary name. A test holds the draw to the engine's. */

import type { JsonObject, MindTurn, OwnerReceipt, TurnKind } from "../contract.ts";
import type { Row } from "./layout.ts";
import { newestOf, withEntry } from "./layout.ts";
import { HomeProblem } from "./problems.ts";
import type { KeptTurn, Records } from "./records.ts";
import * as wire from "./wire.ts";

const SEEDS = 2n ** 53n;
const KIND_OF_ID: Record<string, TurnKind> = { r: "reactive", i: "idle", d: "diary" };

export function localTurns(kept: KeptTurn[]): MindTurn[] {
  return kept.map(({ turnId, kind, atMs, receipt, choices }) => ({ turnId, kind, atMs, receipt, choices }));
}

/** `receipts` oldest first, as the host gives them; the turns come newest first. */
export async function hostTurns(receipts: OwnerReceipt[], save: JsonObject): Promise<MindTurn[]> {
  const named = await turnsBySeed(save);
  return receipts.toReversed().map((receipt) => {
    const turn = named.get(Number(receipt.seed));
    return { turnId: turn?.id ?? null, kind: turn?.kind ?? null, atMs: turn?.atMs ?? null, receipt, choices: null };
  });
}

async function turnsBySeed(
  save: JsonObject,
): Promise<Map<number, { id: string; kind: TurnKind | null; atMs: number }>> {
  const lines = [...objectsIn(save.chat), ...objectsIn(save.diary)];
  const found = new Map<number, { id: string; kind: TurnKind | null; atMs: number }>();
  if (!globalThis.crypto?.subtle || typeof save.petSeed !== "string") return found;
  for (const { turn, atMs } of lines) {
    if (typeof turn !== "string" || turn === "") continue;
    found.set(await turnSeed(save.petSeed, turn), { id: turn, kind: KIND_OF_ID[turn[0]!] ?? null, atMs: Number(atMs) });
  }
  return found;
}

/** The seed that the engine draws for a turn. */
export async function turnSeed(petSeed: string, turnId: string): Promise<number> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(`${petSeed}\nturn\n${turnId}`));
  const hex = Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
  return Number(BigInt(`0x${hex}`) % SEEDS);
}

function objectsIn(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter((one): one is JsonObject => typeof one === "object" && one !== null) : [];
}

/** The receipts of what a pet said at the host that it came home from, kept here; then they are due no more. Throws what
    keeps them from coming; a host that knows the pet no more, or sends none, has none to give. */
export async function bringTurnsHome(row: Row, records: Records): Promise<Row> {
  const due = row.entry?.turnsDue;
  if (due === undefined) return row;
  const there = await wire.receipts(due).catch((error: unknown) => {
    if (error instanceof HomeProblem && !error.lost) return [];
    throw error;
  });
  const found = await hostTurns(there, newestOf(row)?.save ?? {});
  const turns = found.toReversed().flatMap((turn) => keptTurn(row.localId, turn));
  const stored = await records.change(row.localId, (before) => ({ row: settledTurns(before), value: null, turns }));
  return stored.row;
}

/** A receipt that belongs to no words that the pet remembers is nothing that an owner could ask about. */
function keptTurn(localId: string, { turnId, kind, atMs, receipt, choices }: MindTurn): KeptTurn[] {
  return turnId === null || kind === null || atMs === null ? [] : [{ localId, turnId, kind, atMs, receipt, choices }];
}

function settledTurns(row: Row): Row {
  if (row.entry?.turnsDue === undefined) return row;
  const { turnsDue: _, ...entry } = row.entry;
  return withEntry({ ...row, entry }, {});
}
