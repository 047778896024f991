/* The brain's errors, one tree. Each carries a stable `code` and says what was found and what was expected; none holds
   an owner's words, a prompt or what a brain wrote. Codes are those of `tokenling.runtime` wherever it has one. */

/** What to do about a problem: `brain`: another brain or site; `request`: another request; `lost`: try again. */
export type ProblemKind = "brain" | "request" | "receipt" | "turn" | "lost";

/** A problem as it crosses from the worker to the page. */
export interface ProblemShape {
  kind: ProblemKind;
  code: string;
  subject: string;
  found: string;
  expected: string;
}

const FOUND_CHARS_MAX = 200;

/** A refusal or a failure of the brain in the page. */
export class BrainProblem extends Error {
  override name = "BrainProblem";
  readonly kind: ProblemKind;
  readonly code: string;
  readonly subject: string;
  readonly found: string;
  readonly expected: string;

  constructor({ kind, code, subject, found, expected }: ProblemShape) {
    super(`${subject}: found ${found}, expected ${expected} (${code})`);
    [this.kind, this.code, this.subject, this.found, this.expected] = [kind, code, subject, found, expected];
  }

  get shape(): ProblemShape {
    const { kind, code, subject, found, expected } = this;
    return { kind, code, subject, found, expected };
  }
}

/** A brain that breaks the contract, or a site that serves another one: nothing to retry until it changed. */
export function brainRefused(code: string, subject: string, found: unknown, expected: string): BrainProblem {
  return new BrainProblem({ kind: "brain", code, subject, found: quote(found), expected });
}

/** A request that cannot be asked of this brain. Nothing ran; a retry fails too. */
export function requestRefused(code: string, subject: string, found: unknown, expected: string): BrainProblem {
  return new BrainProblem({ kind: "request", code, subject, found: quote(found), expected });
}

/** A turn receipt that cannot be read. */
export function receiptRefused(code: string, subject: string, found: unknown, expected: string): BrainProblem {
  return new BrainProblem({ kind: "receipt", code, subject, found: quote(found), expected });
}

/** A step broke its promise. The turn is lost, the brain stays usable. */
export function turnFailed(code: string, subject: string, found: unknown, expected: string): BrainProblem {
  return new BrainProblem({ kind: "turn", code, subject, found: quote(found), expected });
}

/** A file or the worker did not come through: the same call may work later. */
export function lost(code: string, subject: string, found: unknown, expected: string): BrainProblem {
  return new BrainProblem({ kind: "lost", code, subject, found: quote(found), expected });
}

/** One bounded, printable line. */
function quote(found: unknown): string {
  const text = found === null || found === undefined ? "nothing" : typeof found === "string" ? found : asJson(found);
  const line = text.replace(/[\p{C}\p{Z}]/gu, " ");
  return line.length <= FOUND_CHARS_MAX ? line : `${line.slice(0, FOUND_CHARS_MAX)}…`;
}

function asJson(found: unknown): string {
  if (typeof found === "number") return String(found); // JSON has no NaN
  return JSON.stringify(found) ?? typeof found;
}
