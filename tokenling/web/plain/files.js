/* A pet as a file: the save alone. Keys, ids and addresses never go into it. */

/** The engine's bound on a save. */
const SAVE_BYTES_MAX = 1_048_576;

/** Why a file is not taken: `json`, `size` or `shape`. */
export class NotASave extends Error {
  constructor(why) {
    super(why);
    this.why = why;
  }
}

export function download(save) {
  const url = URL.createObjectURL(new Blob([JSON.stringify(save)], { type: "application/json" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = `${plainName(save.name)}-${new Date().toISOString().slice(0, 10)}.tokenling.json`;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** The save in a chosen file, looked at from outside only: the host's engine checks it whole. Throws `NotASave`. */
export async function readSave(file) {
  if (file.size > SAVE_BYTES_MAX) throw new NotASave("size");
  let save;
  try {
    save = JSON.parse(await file.text());
  } catch {
    throw new NotASave("json");
  }
  const isSave = typeof save === "object" && save !== null && Number.isInteger(save.v) && typeof save.name === "string";
  if (!isSave) throw new NotASave("shape");
  return save;
}

function plainName(name) {
  const plain = String(name)
    .normalize("NFKD")
    .replace(/[^A-Za-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "");
  return plain || "tokenling";
}
