/* Running a turn again from its receipt: the same brain, request and seed give the same tokens, or where not. */

import type { Json, JsonObject, Verdict } from "../contract.ts";
import { canonicalJson } from "./canonical.ts";
import { checkPlan, type Lane, type Watcher, withSteps } from "./decode.ts";
import type { DecodePlan, Encoder } from "./plan.ts";
import { planTurn } from "./plan.ts";
import { BrainProblem } from "./problem.ts";
import {
  asked,
  claims,
  type Identity,
  NUMERICS,
  PROCESSOR,
  PROVIDER,
  type ReadReceipt,
  readReceipt,
} from "./receipts.ts";
import { couldChoose } from "./sampling.ts";
import type { Writer } from "./writer.ts";

/** Providers whose exact logits agree to about 1e-5 with ours: what a host on its processor wrote, a page can prove. */
const PROVABLE: readonly Json[] = ["CPUExecutionProvider", PROVIDER];

/** The brain here, as a receipt would name it. */
export interface Bench {
  lane: Lane;
  encoder: Encoder;
  identity: Identity;
  ortVersion: string;
}

/** Thrown inside when the caller wished no verdict any more. */
export class VerifyStopped extends Error {
  override name = "AbortError";
}

/** Whether this brain, run again, writes what the receipt says. Throws a `BrainProblem` for no owner's receipt.

    `near_tie`: the tokens part at a step where logits within 1e-3 of these could have chosen the receipt's token.
    `not_provable_here`: another brain, other files, other numerics, or a provider that computes other logits. */
export async function verify(bench: Bench, receipt: unknown, watcher: Watcher): Promise<Verdict> {
  const read = readReceipt(receipt);
  const foreign = unprovable(read.fields, bench.identity);
  if (foreign !== null) return { verdict: "not_provable_here", reason: foreign, step: null, choices: [] };
  const planned = plannedAgain(bench, read);
  if (planned === null) return different("request"); // a turn that ran was a turn that fits
  const { plan, writer } = planned;
  const unlike = firstUnlike(read.fields, await asked(plan, read.request, read.tokens));
  if (unlike !== null) return different(unlike);
  const parted = await replay(bench, plan, writer, read, watcher);
  if (parted !== null) return { ...parted, choices: writer.choices };
  const claimed = firstUnlike(read.fields, await claimsHere(bench, plan, writer, read));
  return { ...(claimed === null ? IDENTICAL : different(claimed)), choices: writer.choices };
}

const IDENTICAL: Verdict = { verdict: "identical", reason: null, step: null, choices: [] };

function different(reason: string, step: number | null = null): Verdict {
  return { verdict: "different", reason, step, choices: [] };
}

/** The first field that says that this brain cannot tell; null when it can. */
function unprovable(fields: JsonObject, identity: Identity): string | null {
  if (fields["numerics"] !== NUMERICS) return "numerics";
  if (!PROVABLE.includes(fields["provider"] ?? null)) return "provider";
  return firstUnlike(fields, { ...identity, files: { ...identity.files } });
}

/** The first field that does not say what is expected. */
function firstUnlike(fields: JsonObject, expected: JsonObject): string | null {
  const found = Object.entries(expected).find(([name, value]) => !isSame(fields[name] ?? null, value));
  return found?.[0] ?? null;
}

function isSame(found: Json, expected: Json): boolean {
  try {
    return canonicalJson(found) === canonicalJson(expected);
  } catch {
    return false; // a number that is no integer: never what is expected
  }
}

function plannedAgain({ lane, encoder }: Bench, { request }: ReadReceipt): { plan: DecodePlan; writer: Writer } | null {
  try {
    const plan = planTurn(request, encoder, lane.model.config.positionsMax);
    checkPlan(lane, plan);
    return { plan, writer: lane.writer(plan) };
  } catch (error) {
    if (error instanceof BrainProblem) return null;
    throw error;
  }
}

/** Decodes with `writer`; a verdict at the first token that is not the receipt's, null when all are. A turn that was
    cancelled is replayed as far as it came. */
async function replay(
  bench: Bench,
  plan: DecodePlan,
  writer: Writer,
  read: ReadReceipt,
  watcher: Watcher,
): Promise<Verdict | null> {
  let feed: readonly number[] = plan.promptIds;
  const parted = await withSteps(bench.lane, async (steps) => {
    for (const [step, token] of read.tokens.entries()) {
      if (await watcher.isCancelled()) throw new VerifyStopped();
      if (feed.length === 0) return different("tokens", step); // the receipt goes on where the turn ends
      feed = writer.write(await (step === 0 ? steps.prefill(feed, plan.prefillChunk) : steps.step(feed)));
      if (writer.tokenIds[step] === token) continue;
      const near = couldChoose(writer.legal, plan.sampling, step, token);
      return { ...different("tokens", step), verdict: near ? ("near_tie" as const) : ("different" as const) };
    }
    return null;
  });
  if (parted !== null) return parted;
  if (feed.length > 0 && read.fields["stop"] === "cancelled") writer.cancel();
  return writer.stop === null ? different("tokens", read.tokens.length) : null;
}

/** What the replay claims. Near ties are compared only where logits must agree to the bit: elsewhere rounding may move
    a draw over the border of being near while every token stays. */
async function claimsHere(bench: Bench, plan: DecodePlan, writer: Writer, read: ReadReceipt): Promise<JsonObject> {
  const { nearTies, ...rest } = await claims(plan, writer, read.request);
  const like = { provider: PROVIDER, ortVersion: bench.ortVersion, processor: [...PROCESSOR] };
  return firstUnlike(read.fields, like) === null ? { ...rest, nearTies: nearTies ?? null } : rest;
}
