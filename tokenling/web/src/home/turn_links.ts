/* Turn receipts with the turns that they are of. A receipt holds its turn's seed, and a seed is the draw
   SHA-256(pet seed, "turn", turn id) modulo 2^53: so a host's receipt, which names no turn, is found again among the
   turns that the save's chat and diary name. A test holds the draw to the engine's. */

import type { JsonObject, MindTurn, OwnerReceipt, TurnKind } from "../contract.ts";
import type { KeptTurn } from "./records.ts";

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
