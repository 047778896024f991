/* Stroking with a finger or a mouse: the pet answers at once, and one stroke is told to its rules when the hand lifts. */

import type { Room } from "../scene/room.ts";

/** A hand that has travelled this far strokes; less is a tap, which strokes once, too. */
const TRAVEL_PX = 26;
/** Strokes told at most this often: the rules count one in ten minutes anyway. */
const EVERY_MS = 1500;

export function watchStrokes(touch: HTMLElement, room: Room, stroked: () => void): void {
  let travelled = 0;
  let last: { x: number; y: number } | null = null;
  let toldMs = -Infinity;
  let felt = false;

  const tell = () => {
    const nowMs = performance.now();
    if (nowMs - toldMs < EVERY_MS) return;
    toldMs = nowMs;
    stroked();
  };
  touch.addEventListener("pointerdown", (event) => {
    [travelled, last, felt] = [0, { x: event.clientX, y: event.clientY }, false];
    touch.setPointerCapture(event.pointerId);
  });
  touch.addEventListener("pointermove", (event) => {
    if (!last) return;
    travelled += Math.hypot(event.clientX - last.x, event.clientY - last.y);
    last = { x: event.clientX, y: event.clientY };
    if (felt || travelled < TRAVEL_PX) return;
    felt = true;
    room.act("stroke");
  });
  const lift = (event: PointerEvent) => {
    const stroking = last !== null && event.type === "pointerup";
    last = null;
    if (stroking) tell();
  };
  touch.addEventListener("pointerup", lift);
  touch.addEventListener("pointercancel", lift);
}

/** A key that strokes, too. */
export function isPress(event: KeyboardEvent): boolean {
  return !event.repeat && (event.key === "Enter" || event.key === " ");
}
