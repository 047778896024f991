/* Times as an owner reads them: in the pet's own zone, so its day and night mean the same in chat, diary and window. */

const formatters = new Map();

export function clockTime(atMs, zone) {
  return format(atMs, zone, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
}

export function dayName(atMs, zone) {
  return format(atMs, zone, { weekday: "short", day: "numeric", month: "short" });
}

/** The hour of the day, 0 to 23, with the minutes as a fraction. */
export function hourOfDay(atMs, zone) {
  const [hours, minutes] = clockTime(atMs, zone).split(":");
  return Number(hours) + Number(minutes) / 60;
}

/** A local date as the save writes it, `2026-11-30`, in words. */
export function dateName(date) {
  const atMs = Date.parse(`${date}T12:00:00Z`);
  return Number.isNaN(atMs) ? date : format(atMs, "UTC", { weekday: "long", day: "numeric", month: "long" });
}

function format(atMs, zone, options) {
  const key = JSON.stringify([zone, options]);
  if (!formatters.has(key)) formatters.set(key, formatter(zone, options));
  return formatters.get(key).format(atMs);
}

/** A zone that this browser does not know falls back to its own: the times are off then, the page is not. */
function formatter(zone, options) {
  try {
    return new Intl.DateTimeFormat("en-GB", { ...options, timeZone: zone });
  } catch {
    return new Intl.DateTimeFormat("en-GB", options);
  }
}
