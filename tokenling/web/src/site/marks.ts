/* Moments of a start, on the browser's own performance timeline: for tools/bench/page.py and for the curious. */

export type Moment = "engine" | "brain" | "living";

/** Notes the first time that this happened; says nothing of whose pet it was. */
export function mark(moment: Moment): void {
  const name = `tokenling:${moment}`;
  if (performance.getEntriesByName(name).length === 0) performance.mark(name);
}
