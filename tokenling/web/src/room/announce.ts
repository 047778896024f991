/* The one polite live region: what comes up together is said together, the same words twice are said twice. */

/** Long enough for a screen reader to notice that the region was emptied. A guess. */
const AFTER_MS = 60;

export type Announce = (text: string) => void;

export function makeAnnouncer(region: HTMLElement): Announce {
  let waiting: string[] = [];
  return (text) => {
    waiting.push(text);
    if (waiting.length > 1) return;
    region.textContent = "";
    setTimeout(() => {
      region.textContent = waiting.join(" ");
      waiting = [];
    }, AFTER_MS);
  };
}
