/* An owner's wishes on the disk, as pure steps from one row to the next.

   A wish is *addressed* once it was sent to a host: from then on it is sent there byte for byte, under its epoch. One that
   is not belongs to whoever runs the pet next: this page's executor, which takes it off the disk in the transaction that
   applies it, or a host. What can no longer happen by itself is *returned*: kept until its owner says it again or lets it
   go. */

import type { Command, JsonObject } from "../contract.ts";
import type { Connection, OutboxRecord, Returned, Row, Wish } from "./layout.ts";
import { isAt, modeOf } from "./layout.ts";
import { HomeProblem } from "./problems.ts";

/** Words that wait for their owner's decision; more than that keep the newest. A guess. */
export const RETURNED_MAX = 16;

/** A wish for whoever runs the pet. */
export function wishOf(command: Command, operationId: string, at: Connection | null): Wish {
  const { host = "", id = "", epoch = 0 } = at ?? {};
  return { host, id, epoch, operationId, command: command as unknown as JsonObject };
}

export function isAddressed({ host }: Wish): boolean {
  return host !== "";
}

/** With a wish more, in place of the one that it says again, if any. */
export function withWish(row: Row, wish: Wish, instead?: string): Row {
  const known = row.entry !== null && row.entry.host === wish.host && row.entry.id === wish.id;
  if (isAddressed(wish) ? !known : row.kept === null) throw new HomeProblem("not_hosted");
  const rest = instead === undefined ? row : withoutWish(row, instead);
  return withOutbox(rest, [...wishesOf(rest), wish], returnedOf(rest));
}

/** Without that wish, whether it waits or was returned. */
export function withoutWish(row: Row, operationId: string): Row {
  if (row.outbox === null) return row;
  const others = <One extends { operationId: string }>(list: One[]) =>
    list.filter((one) => one.operationId !== operationId);
  return withOutbox(row, others(wishesOf(row)), others(returnedOf(row)));
}

/** The row once the executor has applied the wish; throws when it was applied or taken back before. */
export function withGranted(row: Row, operationId: string): Row {
  if (!wishesOf(row).some((one) => one.operationId === operationId)) throw new HomeProblem("wish_gone");
  return withoutWish(row, operationId);
}

/** The wish under the address to which it is sent from now on, if nobody has addressed it or runs the pet here. */
export function withAddress(row: Row, operationId: string, { host, id, epoch }: Connection): Row {
  const { entry } = row;
  const there = entry !== null && isAt(entry, { host, id, epoch, key: "" }) && entry.intent === null;
  if (!there || modeOf(row) !== "remote") throw new HomeProblem("not_running");
  const wishes = wishesOf(row).map((wish) =>
    wish.operationId === operationId && !isAddressed(wish) ? { ...wish, host, id, epoch } : wish,
  );
  return withOutbox(row, wishes, returnedOf(row));
}

/** That wish goes back to its owner, if it was words; anything else is dropped: whoever fed a pet sees that it is hungry.
 */
export function withReturned(row: Row, operationId: string): Row {
  return returning(row, (wish) => wish.operationId === operationId);
}

/** What was sent to a host goes back to its owner: the pet goes on without that host. */
export function withSentReturned(row: Row): Row {
  return returning(row, isAddressed);
}

function returning(row: Row, goes: (wish: Wish) => boolean): Row {
  if (row.outbox === null || !wishesOf(row).some(goes)) return row;
  const back: Returned[] = wishesOf(row)
    .filter((wish) => goes(wish) && wish.command.kind === "say")
    .map(({ operationId, command }) => ({ operationId, command }));
  const returned = [...returnedOf(row), ...back].slice(-RETURNED_MAX);
  return withOutbox(
    row,
    wishesOf(row).filter((wish) => !goes(wish)),
    returned,
  );
}

export function wishesOf({ outbox }: Row): Wish[] {
  return outbox?.wishes ?? [];
}

export function returnedOf({ outbox }: Row): Returned[] {
  return outbox?.returned ?? [];
}

function withOutbox(row: Row, wishes: Wish[], returned: Returned[]): Row {
  if (wishes.length === 0 && returned.length === 0) return { ...row, outbox: null };
  const { returned: _, ...others } = row.outbox ?? { v: 1 as const };
  const outbox: OutboxRecord = { ...others, v: 1, wishes, ...(returned.length > 0 ? { returned } : {}) };
  return { ...row, outbox };
}

/** Where a sent wish goes: the pet's host, or one at which it was before. */
export function connectionFor({ entry }: Row, wish: Wish): Connection | null {
  if (entry === null) return null;
  return [entry, ...(entry.past ?? [])].find(({ host, id }) => host === wish.host && id === wish.id) ?? null;
}
