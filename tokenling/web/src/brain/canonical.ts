/* JSON in its one spelling, as `tokenling.runtime.documents.canonical_json` writes it: keys sorted by code point, no
   spaces, integers only. Two equal values give the same bytes, so their digests can be compared. */

import type { Json } from "../contract.ts";

/** The canonical text of a value. Throws for a number that is no safe integer: no receipt or request holds one. */
export function canonicalJson(value: Json): string {
  if (typeof value === "number") {
    if (!Number.isSafeInteger(value)) throw new RangeError("a number that is no integer below 2^53");
    return String(value); // -0 becomes "0", as Python's integer is
  }
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const names = Object.keys(value).sort(byCodePoint);
    return `{${names.map((name) => `${JSON.stringify(name)}:${canonicalJson(value[name] as Json)}`).join(",")}}`;
  }
  return JSON.stringify(value);
}

/** Orders texts by code point, as Python does; JavaScript's own order is by UTF-16 unit. */
export function byCodePoint(a: string, b: string): number {
  for (let at = 0; ;) {
    const [left, right] = [a.codePointAt(at), b.codePointAt(at)];
    if (left === undefined || right === undefined) return a.length - b.length;
    if (left !== right) return left - right;
    at += left > 0xffff ? 2 : 1;
  }
}

/** SHA-256 in lower-case hex; of a text, that of its UTF-8. */
export async function sha256(data: string | Uint8Array<ArrayBuffer>): Promise<string> {
  const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
