/* What the room is given: the household behind it, and the means of the page. */

import type { Brain, Household, SiteFacts } from "../contract.ts";
import type { Announce } from "./announce.ts";
import type { PreferenceStore } from "./kept.ts";
import type { Loading } from "./loading.ts";
import type { Sounds } from "./sound.ts";

/** Whether the page is kept for the time without a network (`site/offline.ts`). */
export interface Offline {
  state(): "unsupported" | "fetching" | "ready" | "update_ready" | "failed";
  subscribe(listener: () => void): () => void;
  update(): void;
}

export interface RoomParts {
  household: Household;
  brain: () => Promise<Brain>;
  site: SiteFacts;
  preferences: PreferenceStore;
  sounds: Sounds;
  loading: Loading;
  announce: Announce;
  offline: Offline;
  /** Hands a file to the owner. */
  download(fileName: string, text: string): void;
}
