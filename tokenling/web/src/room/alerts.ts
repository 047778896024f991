/* Alerts of the system: off at first, only while the browser runs, only while the page is out of sight. What happened is
   decided here, purely; `show` is the one place that speaks to the browser. */

import type { AlertKind, Preferences } from "./kept.ts";
import { skyOf, type Model } from "./model.ts";
import { nameOf, say } from "./strings.ts";

export interface Alert {
  kind: AlertKind;
  text: string;
}

/** What of the step from one model to the next is worth an alert. */
export function alertsOf(before: Model, after: Model): Alert[] {
  const { name } = after;
  const found: Alert[] = [];
  if (after.stage !== before.stage)
    found.push({
      kind: "life",
      text: say(before.stage === "egg" ? "event.hatched" : "alert.grew", { name, item: nameOf("stage", after.stage) }),
    });
  if (after.game && !before.game) found.push({ kind: "life", text: say("game.ready", { name }) });
  if (after.want && after.want !== before.want) found.push({ kind: "want", text: say(`alert.want.${after.want}`, { name }) });
  if (after.diary.length > 0 && after.diary.at(-1)?.date !== before.diary.at(-1)?.date)
    found.push({ kind: "diary", text: say("alert.diary", { name }) });
  const known = new Set(before.chat.map((line) => line.key));
  const said = after.chat.findLast((line) => !line.mine && !known.has(line.key));
  if (said) found.push({ kind: "said", text: say("alert.said", { name }) });
  return found;
}

export interface Circumstances {
  hidden: boolean;
  nowMs: number;
  permission: string;
}

/** Those that the owner wants now. What the pet said is never quoted: a lock screen is no diary. */
export function wantedAlerts(
  alerts: readonly Alert[],
  preferences: Preferences,
  zone: string | undefined,
  { hidden, nowMs, permission }: Circumstances,
): Alert[] {
  if (!preferences.alerts || preferences.quiet || !hidden || permission !== "granted") return [];
  if (!preferences.alertsByNight && skyOf(nowMs, zone) === "night") return [];
  return alerts.filter(({ kind }) => preferences.alertsAbout[kind]);
}

export function alertsPermission(): string {
  return typeof Notification === "undefined" ? "unsupported" : Notification.permission;
}

/** Asks the browser, from the owner's own click. */
export async function askForAlerts(): Promise<boolean> {
  if (typeof Notification === "undefined") return false;
  return (await Notification.requestPermission()) === "granted";
}

export function showAlert(name: string, { kind, text }: Alert): void {
  try {
    const shown = new Notification(name, { body: text, tag: `tokenling-${kind}`, silent: true });
    shown.addEventListener("click", () => window.focus());
  } catch {
    // some browsers let only a service worker show one
    void navigator.serviceWorker?.ready
      .then((registration) => registration.showNotification(name, { body: text, tag: `tokenling-${kind}`, silent: true }))
      .catch(() => undefined);
  }
}
