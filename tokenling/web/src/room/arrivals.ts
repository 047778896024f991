/* When it may be told that a pet has arrived where a move led it. */

import type { HomeSnapshot } from "../contract.ts";

export type Where = "local" | "remote";

/** Follows one pet's snapshots. A move that led to another house has arrived when the pet is of that house. One whose host
    only had to let it live on stays in that house either way, also when the host refused: it has arrived when it lives. */
export class Arrivals {
  #move: HomeSnapshot["move"] = null;
  #resumes = false;

  /** Where the pet has arrived with this snapshot, once an arrival. */
  of({ move, kind, link }: Pick<HomeSnapshot, "move" | "kind" | "link">): Where | null {
    const ended = move === null ? this.#move : null;
    this.#move = move;
    if (move !== null) this.#resumes = move.step === "resume";
    if (this.#resumes) return move === null && link === "live" ? this.#lives() : null;
    const to = ended?.to;
    return (to === "local" || to === "remote") && to === kind ? to : null;
  }

  #lives(): Where {
    this.#resumes = false;
    return "remote";
  }
}
