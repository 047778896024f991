/* Times as an owner reads them: in the pet's own zone, so its day and night mean the same in chat, diary and window. */

const formatters = new Map<string, Intl.DateTimeFormat>();
export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

export function clockTime(atMs: number, zone?: string): string {
  return format(atMs, zone, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
}

export function dayName(atMs: number, zone?: string): string {
  return format(atMs, zone, { weekday: "short", day: "numeric", month: "short" });
}

export function weekday(atMs: number, zone?: string): string {
  return format(atMs, zone, { weekday: "short" });
}

export function dayAndTime(atMs: number, zone?: string): string {
  return `${dayName(atMs, zone)}, ${clockTime(atMs, zone)}`;
}

/** The hour of the day, 0 to 23, with the minutes as a fraction. */
export function hourOfDay(atMs: number, zone?: string): number {
  const [hours = "0", minutes = "0"] = clockTime(atMs, zone).split(":");
  return Number(hours) + Number(minutes) / 60;
}

/** A local date as the save writes it, `2026-11-30`, in words. */
export function dateName(date: string): string {
  const atMs = Date.parse(`${date}T12:00:00Z`);
  return Number.isNaN(atMs) ? date : format(atMs, "UTC", { weekday: "long", day: "numeric", month: "long" });
}

/** The month of such a date: `November 2026`. */
export function monthName(date: string): string {
  const atMs = Date.parse(`${date}T12:00:00Z`);
  return Number.isNaN(atMs) ? date : format(atMs, "UTC", { month: "long", year: "numeric" });
}

function format(atMs: number, zone: string | undefined, options: Intl.DateTimeFormatOptions): string {
  const key = JSON.stringify([zone, options]);
  let made = formatters.get(key);
  if (!made) formatters.set(key, (made = formatter(zone, options)));
  return made.format(atMs);
}

/** A zone that this browser does not know falls back to its own: the times are off then, the page is not. */
function formatter(timeZone: string | undefined, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat("en-GB", timeZone === undefined ? options : { ...options, timeZone });
  } catch {
    return new Intl.DateTimeFormat("en-GB", options);
  }
}
