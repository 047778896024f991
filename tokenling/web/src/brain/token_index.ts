/* A tokenizer's tokens sorted by what they mean to tags; made once a brain. */

import { type Owed, utf8Owed } from "./text_stream.ts";

/** `bytesOf[id]` is what an id writes: no byte for a special token, null for an id that no token has. */
export type TokenTable = readonly (Uint8Array | null)[];

/** The cost of a token that is not legal, and of a tag that cannot be spelled: more than any budget. */
export const NEVER = 32_767;
export const OPEN = 0x5b;
export const CLOSE = 0x5d;
/** What never stands in a tag's free text: brackets and line breaks. */
export const FORBIDDEN: ReadonlySet<number> = new Set([OPEN, CLOSE, 0x0a, 0x0d]);

export class TokenIndex {
  readonly size: number;
  /** Tokens by their first byte. */
  readonly byFirst: readonly (readonly number[])[];
  /** Tokens that hold a `[`, anywhere. */
  readonly opening: readonly number[];
  /** Tokens that may not stand whole in a tag's free text. */
  readonly mixed: readonly number[];
  /** Ids that no token has. */
  readonly missing: readonly number[];
  /** Code points of a token that may stand whole in free text, -1 of any other. */
  readonly plainPoints: Int16Array;
  /** The most code points that one token can add. */
  readonly pointsMax: number;
  readonly hasOnePoint: boolean;
  /** Whether each UTF-8 continuation byte is a token of its own, so that any half character can be completed. */
  readonly hasTails: boolean;
  readonly hasClose: boolean;
  readonly #idOf = new Map<string, number>();
  readonly #spelling = new Map<string, Int16Array>();

  constructor(readonly bytesOf: TokenTable) {
    this.size = bytesOf.length;
    this.plainPoints = new Int16Array(this.size).fill(-1);
    const byFirst: number[][] = Array.from({ length: 256 }, () => []);
    const [opening, mixed, missing]: [number[], number[], number[]] = [[], [], []];
    for (const [token, data] of bytesOf.entries()) {
      if (data === null) missing.push(token);
      if (!data?.length) continue;
      const key = keyOf(data);
      if (!this.#idOf.has(key)) this.#idOf.set(key, token);
      byFirst[data[0] as number]?.push(token);
      if (data.includes(OPEN)) opening.push(token);
      const points = plainPoints(data);
      if (points > 0) this.plainPoints[token] = points;
      else mixed.push(token);
    }
    [this.byFirst, this.opening, this.mixed, this.missing] = [byFirst, opening, mixed, missing];
    const odd = mixed.reduce((most, token) => Math.max(most, bytesOf[token]?.length ?? 0), mixed.length > 0 ? 0 : 1);
    this.pointsMax = this.plainPoints.reduce((most, points) => Math.max(most, points), Math.max(odd, 1));
    this.hasOnePoint = this.plainPoints.includes(1);
    const tails = Array.from({ length: 0x40 }, (_, at) => Uint8Array.of(0x80 + at));
    this.hasTails = tails.every((tail) => this.#idOf.has(keyOf(tail)));
    this.hasClose = this.#idOf.has(keyOf(Uint8Array.of(CLOSE)));
  }

  /** For each place in `literal`, the fewest tokens that spell the rest; `NEVER` where none do. */
  spelling(literal: Uint8Array): Int16Array {
    const key = keyOf(literal);
    const known = this.#spelling.get(key);
    if (known) return known;
    const least = new Int16Array(literal.length + 1).fill(NEVER);
    least[literal.length] = 0;
    for (let at = literal.length - 1; at >= 0; at -= 1) {
      for (let to = at + 1; to <= literal.length; to += 1) {
        const cost = Math.min(NEVER, (least[to] as number) + 1);
        if (cost < (least[at] as number) && this.#idOf.has(key.slice(at, to))) least[at] = cost;
      }
    }
    this.#spelling.set(key, least);
    return least;
  }
}

/** Bytes as a text of one character each: a key for maps. */
function keyOf(data: Uint8Array): string {
  return String.fromCharCode(...data);
}

/** How many code points bytes hold that may stand whole in a tag's free text; 0 when they may not. */
function plainPoints(data: Uint8Array): number {
  let points = 0;
  let owed: Owed | null = null;
  for (const byte of data) {
    if (owed !== null) {
      if (byte < owed.low || byte > owed.high) return 0;
      owed = owed.count > 1 ? { count: owed.count - 1, low: 0x80, high: 0xbf } : null;
      continue;
    }
    if (FORBIDDEN.has(byte)) return 0;
    points += 1;
    if (byte < 0x80) continue;
    owed = utf8Owed(byte);
    if (owed === null) return 0;
  }
  return owed === null ? points : 0;
}
