/* The catch game's arithmetic: where the ball is, and whether it is caught. Pure; views/catch.ts draws it. */

export const ROUNDS = 5;
export const CROSSING_MS = 1500;
/** For those who prefer less motion: slower, and the same reach. */
export const CALM_CROSSING_MS = 2800;
/** How far from the ring's middle still counts, in shares of the field's width. */
export const REACH = 0.11;
export const RING = 0.62;

/** Where the ball is after `elapsedMs`, in shares of the field, or null when it has left. */
export function swing(elapsedMs: number, crossingMs: number): { x: number; y: number } | null {
  const x = elapsedMs / crossingMs;
  return x > 1 ? null : { x, y: 0.72 - 1.9 * x * (1 - x) + 0.2 * x };
}

export function isCaught(x: number): boolean {
  return Math.abs(x - RING) <= REACH;
}

/** `m:ss` until the game expires; never below nothing. */
export function timeLeft(expiresMs: number, nowMs: number): string {
  const seconds = Math.max(0, Math.ceil((expiresMs - nowMs) / 1000));
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}
