/* Random ids and keys. Chance is a parameter elsewhere: tests pass their own `Ids`. */

const KEY_BYTES = 32;

export interface Ids {
  uuid(): string;
  key(): string;
}

/** 43 characters: 32 random bytes, base64url without padding. The host keeps only their hash. */
export function newKey(): string {
  return base64url(crypto.getRandomValues(new Uint8Array(KEY_BYTES)));
}

/** A random UUID (version 4), by hand: `crypto.randomUUID` is missing outside secure contexts. */
export function newUuid(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

export const RANDOM_IDS: Ids = { uuid: newUuid, key: newKey };

/** SHA-256 over the decoded bytes of a key, in lower-case hex: what the host keeps. */
export async function keyHash(key: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", bytesOfBase64url(key));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export function base64url(bytes: Uint8Array): string {
  const base64 = btoa(String.fromCharCode(...bytes));
  return base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** Throws a `RangeError` for a text that is not canonical base64url without padding. */
export function bytesOfBase64url(text: string): Uint8Array<ArrayBuffer> {
  if (!/^[A-Za-z0-9_-]*$/.test(text) || text.length % 4 === 1) throw new RangeError("not base64url");
  const decoded = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  const bytes = Uint8Array.from(decoded, (character) => character.charCodeAt(0));
  if (base64url(bytes) !== text) throw new RangeError("not canonical base64url");
  return bytes;
}
