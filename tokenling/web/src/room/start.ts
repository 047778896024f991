/* From an opened household to the page: preferences applied, the first screen shown. */

import type { Brain, Household, SiteFacts } from "../contract.ts";
import { makeAnnouncer } from "./announce.ts";
import { App } from "./app.ts";
import { download } from "./files.ts";
import { PreferenceStore, type Preferences } from "./kept.ts";
import type { Loading } from "./loading.ts";
import type { Offline } from "./parts.ts";
import { Sounds } from "./sound.ts";

export interface StartParts {
  page: HTMLElement;
  live: HTMLElement;
  household: Household;
  brain: () => Promise<Brain>;
  site: SiteFacts;
  loading: Loading;
  offline: Offline;
}

export async function startRoom({ page, live, household, brain, site, loading, offline }: StartParts): Promise<App> {
  const preferences = new PreferenceStore();
  const sounds = new Sounds();
  const less = matchMedia("(prefers-reduced-motion: reduce)");
  const apply = () => applyPreferences(preferences.now, less.matches, sounds);
  less.addEventListener("change", apply);
  preferences.subscribe(apply);
  const app = new App(page, { household, brain, site, preferences, sounds, loading, offline, announce: makeAnnouncer(live), download });
  await app.start();
  return app;
}

/** The owner's word on motion goes both ways over the system's. */
export function motionOf({ motion }: Pick<Preferences, "motion">, systemWantsLess: boolean): "full" | "calm" {
  if (motion === "system") return systemWantsLess ? "calm" : "full";
  return motion;
}

function applyPreferences(preferences: Preferences, systemWantsLess: boolean, sounds: Sounds): void {
  document.documentElement.dataset.motion = motionOf(preferences, systemWantsLess);
  document.documentElement.dataset.quiet = String(preferences.quiet);
  sounds.enabled = preferences.sound && !preferences.quiet;
}
