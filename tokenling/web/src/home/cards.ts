/* Pairing cards, `tokenling-card 1`: what a second device, or paper, needs to reach a pet on its host.

   The payload is bytes: flags (1: plain http), length of the host's name, that name (`example.org:8443`), the pet's id
   (16), its access key (32), and four bytes of SHA-256 over what stands before, behind `tokenling-card 1\n`. As text it
   is `tokenling-card 1 ` and base64url; as words eleven bits a word, the last one filled up with zeros. A card is a
   key: it is shown on demand and never stands in a URL. */

import type { PairingCard } from "../contract.ts";
import { CARD_WORDS } from "./card_words.ts";
import { base64url, bytesOfBase64url } from "./ids.ts";
import type { Connection } from "./layout.ts";
import { CardRefused } from "./problems.ts";
import { isPrivate } from "./wire.ts";

const MARK = "tokenling-card";
const VERSION = "1";
const PLAIN_HTTP = 1;
const ID_BYTES = 16;
const KEY_BYTES = 32;
const CHECK_BYTES = 4;
/** A DNS name has 253 characters at most, and then comes a port. */
const HOST_BYTES_MAX = 255;
const WORD_BITS = 11;
/** Words of the longest card, and characters of anything that may hold them: more is not looked at. */
const TEXT_MAX = 8192;
const SHORTEST = 4;

export type Card = Pick<Connection, "host" | "id" | "key">;

/** The card of a connection, as text for a QR code and as words. */
export async function written(card: Card): Promise<PairingCard> {
  const bytes = await sealed(payloadOf(card));
  return { text: `${MARK} ${VERSION} ${base64url(bytes)}`, words: wordsOf(bytes) };
}

/** The card in a text. Throws `CardRefused`: `card_format` (with the number of words `found`, and `wanted` where it is known), `card_version`, `card_word` (which one), `card_checksum`,
    `card_host`. */
export async function read(text: string): Promise<Card> {
  if (text.length > TEXT_MAX) throw new CardRefused("card_format");
  const parts = text.trim().split(/[\s,]+/);
  const bytes = parts[0] === MARK ? bytesOfText(parts) : bytesOfWords(parts);
  const payload = await opened(bytes);
  return cardOf(payload);
}

// --- bytes ---------------------------------------------------------------------------------------------------------

function payloadOf({ host, id, key }: Card): Uint8Array {
  const url = new URL(host);
  const name = new TextEncoder().encode(url.host);
  if (name.length > HOST_BYTES_MAX) throw new CardRefused("card_host");
  const flags = url.protocol === "http:" ? PLAIN_HTTP : 0;
  return Uint8Array.from([flags, name.length, ...name, ...bytesOfUuid(id), ...bytesOfBase64url(key)]);
}

function cardOf(payload: Uint8Array): Card {
  const [flags = 0, length = 0] = payload;
  if (flags > PLAIN_HTTP) throw new CardRefused("card_version", { flags });
  const name = new TextDecoder().decode(payload.subarray(2, 2 + length));
  const origin = `${flags === PLAIN_HTTP ? "http" : "https"}://${name}`;
  const url = URL.canParse(origin) ? new URL(origin) : null;
  if (url === null || url.origin !== origin || !isPrivate(url)) throw new CardRefused("card_host");
  const rest = payload.subarray(2 + length);
  return { host: origin, id: uuidOf(rest.subarray(0, ID_BYTES)), key: base64url(rest.subarray(ID_BYTES)) };
}

async function sealed(payload: Uint8Array): Promise<Uint8Array> {
  return Uint8Array.from([...payload, ...(await checkOf(payload))]);
}

/** The payload in front of a right checksum; its own length says where it ends, what comes behind must be filling. */
async function opened(bytes: Uint8Array): Promise<Uint8Array> {
  const length = 2 + (bytes[1] ?? 0) + ID_BYTES + KEY_BYTES;
  const filling = bytes.subarray(length + CHECK_BYTES);
  if (bytes.length < length + CHECK_BYTES || filling.length > 1 || filling.some((byte) => byte !== 0))
    throw new CardRefused("card_format");
  const payload = bytes.subarray(0, length);
  const check = await checkOf(payload);
  if (check.some((byte, at) => byte !== bytes[length + at])) throw new CardRefused("card_checksum");
  return payload;
}

async function checkOf(payload: Uint8Array): Promise<Uint8Array> {
  const head = new TextEncoder().encode(`${MARK} ${VERSION}\n`);
  const digest = await crypto.subtle.digest("SHA-256", Uint8Array.from([...head, ...payload]));
  return new Uint8Array(digest).subarray(0, CHECK_BYTES);
}

// --- text and words ------------------------------------------------------------------------------------------------

function bytesOfText(parts: string[]): Uint8Array {
  const [, version, ...body] = parts;
  if (version !== VERSION) throw new CardRefused("card_version", { version: (version ?? "").slice(0, 16) });
  try {
    return bytesOfBase64url(body.join(""));
  } catch {
    throw new CardRefused("card_format");
  }
}

function wordsOf(bytes: Uint8Array): string[] {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  const words: string[] = [];
  for (let at = 0; at < bits.length; at += WORD_BITS)
    words.push(CARD_WORDS[Number.parseInt(bits.slice(at, at + WORD_BITS).padEnd(WORD_BITS, "0"), 2)]!);
  return words;
}

/** A word may be written in any case, and cut after its first four letters. */
function bytesOfWords(parts: string[]): Uint8Array {
  const bits = parts.map((word, at) => indexOf(word, at).toString(2).padStart(WORD_BITS, "0")).join("");
  const bytes = new Uint8Array(Math.floor(bits.length / 8));
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = Number.parseInt(bits.slice(at * 8, at * 8 + 8), 2);
  checkCount(parts.length, bytes);
  if (bits.slice(bytes.length * 8).includes("1")) throw new CardRefused("card_format");
  return bytes;
}

/** A card's first two bytes tell how long it is. Where they cannot be those of a card, nothing is known but the number found. */
function checkCount(found: number, [flags = 0xff, length = 0]: Uint8Array): void {
  if (flags > PLAIN_HTTP) throw new CardRefused("card_format", { reason: "card_start", found });
  const wanted = Math.ceil(((2 + length + ID_BYTES + KEY_BYTES + CHECK_BYTES) * 8) / WORD_BITS);
  if (found !== wanted) throw new CardRefused("card_format", { reason: "card_count", found, wanted });
}

let byStart: Map<string, number> | null = null;

function indexOf(word: string, at: number): number {
  byStart ??= new Map(CARD_WORDS.map((known, index) => [known.slice(0, SHORTEST), index]));
  const written = word.toLowerCase();
  const index = byStart.get(written.slice(0, SHORTEST));
  if (index === undefined || !CARD_WORDS[index]!.startsWith(written))
    throw new CardRefused("card_word", { word: at + 1 });
  return index;
}

function bytesOfUuid(id: string): number[] {
  const hex = id.replaceAll("-", "");
  if (!/^[0-9a-f]{32}$/.test(hex)) throw new CardRefused("card_format");
  return Array.from({ length: ID_BYTES }, (_, at) => Number.parseInt(hex.slice(at * 2, at * 2 + 2), 16));
}

function uuidOf(bytes: Uint8Array): string {
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}
