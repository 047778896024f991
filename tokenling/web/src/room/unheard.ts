/* What is said of a host that gave this page no answer: a browser does not tell a page whether nobody answered or whether
   the answer was withheld because the host does not allow pets from the page's origin, so both are named. */

import { problemText, say } from "./strings.ts";

/** Words for a problem with the host of `address`; `page` is the origin that the host's operator would have to allow. */
export function hostProblemText(problem: unknown, address: string, page: string): string {
  if ((problem as { code?: unknown } | null)?.code !== "unreachable") return problemText(problem);
  return address === page ? say("unheard.own", { host: address }) : say("unheard.other", { host: address, page });
}
