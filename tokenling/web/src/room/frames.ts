/* Snapshots as fast as a screen shows them: a brain writes a piece in two milliseconds, and a picture of the whole pet for
   each of them would take the page's thread from all else. */

import type { Home, HomeSnapshot } from "../contract.ts";

/** Hands on what a home tells, and returns the way to end it. While a reply is being written, only the newest snapshot of
    a frame is taken; everything else is taken at once, and so is all that comes while nobody looks: a hidden page has no
    frames, and its alerts must not wait for one. */
export function followByFrame(home: Pick<Home, "subscribe">, take: (snapshot: HomeSnapshot) => void): () => void {
  let newest: HomeSnapshot | null = null;
  let frame = 0;
  const drop = () => {
    cancelAnimationFrame(frame);
    [newest, frame] = [null, 0];
  };
  const shown = () => {
    const snapshot = newest;
    drop();
    if (snapshot !== null) take(snapshot);
  };
  const end = home.subscribe((snapshot) => {
    if (snapshot.words === null || document.hidden) {
      drop();
      return take(snapshot);
    }
    newest = snapshot;
    frame ||= requestAnimationFrame(shown);
  });
  return () => {
    end();
    drop();
  };
}
