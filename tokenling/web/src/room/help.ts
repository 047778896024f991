/* When an owner's own words speak of self-harm, the page (never the pet) shows a quiet line with a way to help. Bounded:
   whole phrases from the table of strings, on words alone; nothing is sent, stored or counted. */

import { HELP_PHRASES } from "./strings.ts";

/** UTF-16 units that are looked at: the code points that an owner may say at once, and then some. */
const LOOKED_AT_MAX = 800;

const wanted = HELP_PHRASES.map((phrase) => ` ${plain(phrase)} `);

/** Whether the words speak of wanting to die or of hurting oneself. */
export function speaksOfHarm(text: string): boolean {
  const words = ` ${plain(text.slice(0, LOOKED_AT_MAX))} `;
  return wanted.some((phrase) => words.includes(phrase));
}

/** Lower case letters and single spaces; apostrophes go, everything else parts words. */
function plain(text: string): string {
  return text
    .normalize("NFKC")
    .toLowerCase()
    .replace(/['’ʼ`´]/gu, "")
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
}
