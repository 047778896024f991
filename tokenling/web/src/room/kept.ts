/* The room's own small notes in localStorage: preferences and what was played. Losing them harms no pet. A browser that
   keeps nothing gets the defaults each time. */

const PREFERENCES = "tokenling.room.v1";
const PLAYED = "tokenling.room.played.v1";
const HATCHED = "tokenling.room.hatched.v1";
/** Pets whose played effects are remembered. A guess: more than any browser holds. */
const PLAYED_PETS_MAX = 64;

export const MOTIONS = ["system", "full", "calm"] as const;
export type Motion = (typeof MOTIONS)[number];
/** What an alert may be about. */
export const ALERT_KINDS = ["said", "want", "life", "diary"] as const;
export type AlertKind = (typeof ALERT_KINDS)[number];

export interface Preferences {
  motion: Motion;
  sound: boolean;
  quiet: boolean;
  alerts: boolean;
  alertsAbout: Record<AlertKind, boolean>;
  /** No alerts while it is night for the pet. */
  alertsByNight: boolean;
  /** Whether the browser was asked in context already. */
  alertsOffered: boolean;
  helpHidden: boolean;
}

export const DEFAULTS: Preferences = {
  motion: "system",
  sound: false,
  quiet: false,
  alerts: false,
  alertsAbout: { said: true, want: true, life: true, diary: false },
  alertsByNight: false,
  alertsOffered: false,
  helpHidden: false,
};

/** Preferences out of whatever was stored: a field of another kind falls back to its default. */
export function preferencesFrom(text: string | null): Preferences {
  const found = parsed(text);
  const about = record(found.alertsAbout);
  return {
    motion: MOTIONS.find((motion) => motion === found.motion) ?? DEFAULTS.motion,
    sound: flag(found.sound, DEFAULTS.sound),
    quiet: flag(found.quiet, DEFAULTS.quiet),
    alerts: flag(found.alerts, DEFAULTS.alerts),
    alertsAbout: Object.fromEntries(ALERT_KINDS.map((kind) => [kind, flag(about[kind], DEFAULTS.alertsAbout[kind])])) as Record<
      AlertKind,
      boolean
    >,
    alertsByNight: flag(found.alertsByNight, DEFAULTS.alertsByNight),
    alertsOffered: flag(found.alertsOffered, DEFAULTS.alertsOffered),
    helpHidden: flag(found.helpHidden, DEFAULTS.helpHidden),
  };
}

export class PreferenceStore {
  #now = preferencesFrom(read(PREFERENCES));
  #listeners = new Set<(preferences: Preferences) => void>();

  get now(): Preferences {
    return this.#now;
  }

  set(change: Partial<Preferences>): void {
    this.#now = { ...this.#now, ...change };
    write(PREFERENCES, JSON.stringify(this.#now));
    for (const listener of this.#listeners) listener(this.#now);
  }

  /** Called at each change, and once at once. */
  subscribe(listener: (preferences: Preferences) => void): () => void {
    this.#listeners.add(listener);
    listener(this.#now);
    return () => this.#listeners.delete(listener);
  }
}

/** The id of the newest effect that was played for a pet; null before its first look. */
export function playedId(localId: string): number | null {
  const id = parsed(read(PLAYED))[localId];
  return typeof id === "number" ? id : null;
}

export function notePlayed(localId: string, id: number): void {
  const { [localId]: _, ...others } = parsed(read(PLAYED));
  const kept = [...Object.entries(others), [localId, id]].slice(-PLAYED_PETS_MAX);
  write(PLAYED, JSON.stringify(Object.fromEntries(kept)));
}

/** When a pet hatched, as long as its events told it; null where this browser did not see it in time. */
export function hatchedMs(localId: string): number | null {
  const atMs = parsed(read(HATCHED))[localId];
  return typeof atMs === "number" && Number.isFinite(atMs) ? atMs : null;
}

export function noteHatched(localId: string, atMs: number): void {
  const { [localId]: known, ...others } = parsed(read(HATCHED));
  if (known === atMs) return;
  const kept = [...Object.entries(others), [localId, atMs]].slice(-PLAYED_PETS_MAX);
  write(HATCHED, JSON.stringify(Object.fromEntries(kept)));
}

export function read(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

export function write(key: string, text: string): void {
  try {
    localStorage.setItem(key, text);
  } catch {
    // a browser that keeps nothing: the page goes on without
  }
}

function parsed(text: string | null): Record<string, unknown> {
  try {
    return record(JSON.parse(text ?? "{}"));
  } catch {
    return {};
  }
}

function record(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};
}

function flag(value: unknown, otherwise: boolean): boolean {
  return typeof value === "boolean" ? value : otherwise;
}
