/* Idle life: it blinks, looks about, follows a pointer with its eyes, stretches. Nothing here is the pet's doing in the
   sense of the rules; it is how somebody looks who is simply there. */

import type { Room } from "./scene/room.ts";

const BLINK_EVERY_MS = [2200, 6400] as const;
const LOOK_EVERY_MS = [3800, 9000] as const;
/** How long the eyes stay with a pointer that has stopped. */
const FOLLOW_MS = 2600;
const IDLE_MOVEMENTS = ["hop", "wave", "stretch", "explore"] as const;
/** Of the looks about, how many are a small movement instead. */
const MOVEMENT_SHARE = 0.16;

export interface IdleState {
  /** Whether it may move by itself: awake, out of its egg, not thinking, in sight, no quiet mode. */
  restless(): boolean;
  calm(): boolean;
}

/** Starts idle life; returns what ends it. */
export function startIdle(room: Room, state: IdleState): () => void {
  let followedMs = 0;
  const timers = new Map<string, number>();

  const again = (name: string, [least, most]: readonly [number, number], act: () => void) => {
    timers.set(
      name,
      window.setTimeout(() => (document.hidden || act(), again(name, [least, most], act)), least + Math.random() * (most - least)),
    );
  };
  again("blink", BLINK_EVERY_MS, () => {
    room.blink();
    if (Math.random() < 0.2) setTimeout(room.blink, 240);
  });
  again("look", LOOK_EVERY_MS, () => {
    if (performance.now() - followedMs < FOLLOW_MS) return;
    if (state.restless() && !state.calm() && Math.random() < MOVEMENT_SHARE)
      room.act(IDLE_MOVEMENTS[Math.floor(Math.random() * IDLE_MOVEMENTS.length)] ?? "hop");
    else room.gaze(Math.random() * 2 - 1, Math.random() * 1.4 - 0.7);
  });

  const follow = (event: PointerEvent) => {
    if (state.calm() || event.pointerType === "touch") return;
    const box = room.element.getBoundingClientRect();
    followedMs = performance.now();
    room.gaze(
      clamp((event.clientX - box.left - box.width / 2) / (box.width / 2)),
      clamp((event.clientY - box.top - box.height * 0.7) / (box.height / 2)),
    );
  };
  window.addEventListener("pointermove", follow, { passive: true });
  return () => {
    for (const timer of timers.values()) clearTimeout(timer);
    window.removeEventListener("pointermove", follow);
  };
}

function clamp(value: number): number {
  return Math.max(-1, Math.min(1, value));
}
