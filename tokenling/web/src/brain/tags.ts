/* Which tokens keep closed tags legal: the automaton of `tokenling.runtime.tags`, run over each token's own bytes.

   Outside a tag everything may be written but a `[` that could not become a legal tag. Inside one only what continues
   a legal tag, to its `]`. A token may hold text before `[` and after `]`, several tags, or half a character: all is
   judged byte by byte. Each state knows the fewest tokens that close it, and a token is legal only while the budget
   left behind it covers that: an open tag can always close. */

import { byCodePoint } from "./canonical.ts";
import { requestRefused } from "./problem.ts";
import { type Owed, utf8Owed } from "./text_stream.ts";
import { CLOSE, FORBIDDEN, NEVER, OPEN, type TokenIndex } from "./token_index.ts";

/** One way in which the open tag may still go on: `at` bytes of its literal part read, then, in free text, `points`
    code points begun, and what the last one still owes. */
interface Position {
  tag: number;
  at: number;
  points: number;
  owed: Owed | null;
}

/** Where the bytes so far stand; none: outside of any tag. */
export interface State {
  readonly positions: readonly Position[];
  /** Equal for equal states. */
  readonly key: string;
}

export const OUTSIDE: State = { positions: [], key: "" };

/** Where a token leads: the state behind it and the tags it closed; null when it breaks one. */
export type Walk = { state: State; closed: readonly string[] } | null;

/** One legal tag: its literal bytes, and whether free text follows them before the `]`. */
interface Tag {
  text: string;
  literal: Uint8Array;
  free: boolean;
}

export const FREE_TAG_MARK = "…";
const FREE_TAG_CODE_POINTS_MAX = 40;
/** A guess: ten times what a request of the engine lists. */
const TAGS_MAX = 512;
/** A guess: the longest literal tag is a tenth of it. */
const TAG_BYTES_MAX = 256;
/** Cost arrays that one mask keeps: a guess, five times what a turn meets. */
const STATES_MAX = 256;
/** Walks that one mask keeps, of a few hundred bytes each. */
const WALKS_MAX = 4096;
/** Masks kept from turn to turn, as native lanes do. */
const MASKS_MAX = 8;

/** `[eat]` or `[remember …]`. */
function parseTag(text: string): Tag {
  const free = text.endsWith(`${FREE_TAG_MARK}]`);
  const inner = text.slice(1, free ? -FREE_TAG_MARK.length - 1 : -1);
  const literal = new TextEncoder().encode(free ? `[${inner}` : text);
  const shaped = text.startsWith("[") && text.endsWith("]") && text.length > 1 && !/[[\]\n\r…]/.test(inner);
  if (!shaped || !inner || literal.length > TAG_BYTES_MAX) {
    const found = `a tag of ${Array.from(text).length} characters`;
    throw requestRefused("tag_malformed", "tags", found, `[words] or [words ${FREE_TAG_MARK}]`);
  }
  return { text, literal, free };
}

function stateOf(positions: readonly Position[]): State {
  if (positions.length === 0) return OUTSIDE;
  const parts = positions.map(({ tag, at, points, owed }) => {
    return `${tag},${at},${points},${owed ? `${owed.count}/${owed.low}/${owed.high}` : ""}`;
  });
  return { positions, key: parts.join(";") };
}

/** A set of legal tags. `insertionTokens` gives a lookup tag's answer length: it must fit behind it, and nothing may
    follow the tag in its own token. */
export class TagMask {
  readonly #tags: readonly Tag[];
  readonly #costs = new Map<string, Int16Array>();
  readonly #dearest = new Map<string, number>();
  readonly #legal = new Map<string, Uint8Array>();
  readonly #walks = new Map<string, Walk>();

  constructor(
    private readonly index: TokenIndex,
    tags: readonly string[],
    private readonly insertionTokens: ReadonlyMap<string, number>,
  ) {
    this.#tags = tags.map(parseTag);
  }

  /** The effect of one token. */
  walk(state: State, token: number): Walk {
    const key = `${state.key}:${token}`;
    const known = this.#walks.get(key);
    if (known !== undefined) return known;
    if (this.#walks.size >= WALKS_MAX) this.#walks.clear();
    const walk = this.#walk(state, this.index.bytesOf[token] ?? null);
    this.#walks.set(key, walk);
    return walk;
  }

  #walk(from: State, data: Uint8Array | null): Walk {
    // a special token writes nothing: harmless outside, but inside it would only burn the budget
    if (!data?.length) return from.positions.length > 0 || data === null ? null : { state: OUTSIDE, closed: [] };
    let positions = from.positions;
    const closed: string[] = [];
    for (let at = 0; at < data.length; at += 1) {
      const byte = data[at] as number;
      if (positions.length === 0) {
        if (byte !== OPEN) continue;
        positions = this.#tags.map((_, tag) => ({ tag, at: 1, points: 0, owed: null }));
        if (positions.length === 0) return null;
      } else if (byte === CLOSE) {
        const name = this.#closes(positions);
        if (name === null || (this.insertionTokens.has(name) && at + 1 < data.length)) return null;
        closed.push(name);
        positions = [];
      } else {
        positions = this.#step(positions, byte);
        if (positions.length === 0) return null;
      }
    }
    return { state: positions === from.positions ? from : stateOf(positions), closed };
  }

  /** The tag that a `]` completes here; a literal one before a free one. */
  #closes(positions: readonly Position[]): string | null {
    const done = positions.filter((position) => this.#isDone(position)).map(({ tag }) => this.#tag(tag));
    return (done.find((tag) => !tag.free) ?? done[0])?.text ?? null;
  }

  #isDone({ tag, at, points, owed }: Position): boolean {
    const { literal, free } = this.#tag(tag);
    return free ? at === literal.length && points > 0 && owed === null : at === literal.length - 1;
  }

  /** The positions that one byte inside a tag leaves possible. */
  #step(positions: readonly Position[], byte: number): Position[] {
    const moved: Position[] = [];
    for (const position of positions) {
      const next = this.#move(position, byte);
      if (next !== null) moved.push(next);
    }
    return moved;
  }

  #move({ tag, at, points, owed }: Position, byte: number): Position | null {
    const { literal } = this.#tag(tag);
    if (at < literal.length) return literal[at] === byte ? { tag, at: at + 1, points, owed } : null;
    if (owed !== null) {
      if (byte < owed.low || byte > owed.high) return null;
      return { tag, at, points, owed: owed.count > 1 ? { count: owed.count - 1, low: 0x80, high: 0xbf } : null };
    }
    if (FORBIDDEN.has(byte) || points >= FREE_TAG_CODE_POINTS_MAX) return null;
    if (byte < 0x80) return { tag, at, points: points + 1, owed: null };
    const begun = utf8Owed(byte);
    return begun && { tag, at, points: points + 1, owed: begun };
  }

  /** The fewest tokens that close the state, a lookup's answer included; 0 outside. */
  closingCost(positions: readonly Position[]): number {
    if (positions.length === 0) return 0;
    return positions.reduce((least, position) => Math.min(least, this.#positionCost(position)), NEVER);
  }

  #positionCost({ tag, at, points, owed }: Position): number {
    const { text, literal, free } = this.#tag(tag);
    if (!free)
      return Math.min(NEVER, (this.index.spelling(literal)[at] as number) + (this.insertionTokens.get(text) ?? 0));
    const close = this.index.hasClose ? 1 : NEVER;
    if (owed !== null) return this.index.hasTails ? Math.min(NEVER, owed.count + close) : NEVER;
    if (points > 0) return close;
    const first = this.index.hasOnePoint ? 1 : NEVER;
    return Math.min(NEVER, (this.index.spelling(literal)[at] as number) + first + close);
  }

  /** For each token the fewest tokens that must follow it, `NEVER` for an illegal one. */
  costs(state: State): Int16Array {
    const wide = this.#classOf(state);
    const known = this.#costs.get(wide.key);
    if (known) return known;
    if (this.#costs.size >= STATES_MAX) for (const kept of [this.#costs, this.#dearest, this.#legal]) kept.clear();
    const costs = wide === OUTSIDE ? this.#outsideCosts() : this.#insideCosts(wide);
    this.#costs.set(wide.key, costs);
    this.#dearest.set(
      wide.key,
      costs.reduce((most, cost) => (cost < NEVER && cost > most ? cost : most), 0),
    );
    return costs;
  }

  /** For each token 1 if it may be written while `room` more may follow it, else 0. Not to be written to. */
  legal(state: State, room: number): Uint8Array {
    const costs = this.costs(state);
    const { key } = this.#classOf(state);
    // far from the budget's end what is legal does not change: one array for all of it
    const bound = Math.min(room, this.#dearest.get(key) as number);
    const known = this.#legal.get(`${bound}:${key}`);
    if (known) return known;
    const legal = new Uint8Array(costs.length);
    for (let token = 0; token < costs.length; token += 1) legal[token] = (costs[token] as number) <= bound ? 1 : 0;
    this.#legal.set(`${bound}:${key}`, legal);
    return legal;
  }

  /** States that mask alike share one mask: free text far from its bound. */
  #classOf(state: State): State {
    const far = FREE_TAG_CODE_POINTS_MAX - this.index.pointsMax;
    if (!state.positions.some(({ points }) => points > 1 && points <= far)) return state;
    return stateOf(state.positions.map((one) => (one.points >= 1 && one.points <= far ? { ...one, points: 1 } : one)));
  }

  #outsideCosts(): Int16Array {
    const costs = new Int16Array(this.index.size);
    for (const token of this.index.missing) costs[token] = NEVER;
    for (const token of this.index.opening) costs[token] = this.#tokenCost(OUTSIDE, token);
    return costs;
  }

  #insideCosts(state: State): Int16Array {
    const costs = new Int16Array(this.index.size).fill(NEVER);
    const plain = this.index.plainPoints;
    for (const { tag, at, points, owed } of state.positions) {
      if (at < this.#tag(tag).literal.length || owed !== null) continue; // not at a character's border in free text
      const room = FREE_TAG_CODE_POINTS_MAX - points;
      for (let token = 0; token < plain.length; token += 1) {
        if ((plain[token] as number) > 0 && (plain[token] as number) <= room) costs[token] = 1;
      }
    }
    for (const token of this.#candidates(state)) costs[token] = this.#tokenCost(state, token);
    return costs;
  }

  /** The tokens that must be walked: those that start with a byte some literal waits for, and the odd ones. */
  *#candidates({ positions }: State): Iterable<number> {
    const waiting = new Set<number>();
    for (const { tag, at } of positions) {
      const byte = this.#tag(tag).literal[at];
      if (byte !== undefined) waiting.add(byte);
    }
    for (const byte of waiting) yield* this.index.byFirst[byte] ?? [];
    if (waiting.size < positions.length) yield* this.index.mixed;
  }

  #tokenCost(state: State, token: number): number {
    const walk = this.#walk(state, this.index.bytesOf[token] ?? null);
    if (walk === null) return NEVER;
    const lookups = walk.closed.reduce((sum, name) => sum + (this.insertionTokens.get(name) ?? 0), 0);
    return Math.min(NEVER, this.closingCost(walk.state.positions) + lookups);
  }

  /** Which tag a token writes or continues, for the eye: a tag, or what the tags left open have in common. */
  label(state: State, token: number): string | null {
    const walk = this.walk(state, token);
    if (walk === null) return null;
    if (walk.closed[0] !== undefined) return walk.closed[0];
    const names = walk.state.positions.map(({ tag }) => this.#tag(tag).text);
    return names.length > 1 ? commonBeginning(names) : (names[0] ?? null);
  }

  #tag(at: number): Tag {
    return this.#tags[at] as Tag;
  }
}

function commonBeginning(names: readonly string[]): string {
  const sorted = [...names].sort(byCodePoint);
  const [first, last] = [Array.from(sorted[0] as string), Array.from(sorted[sorted.length - 1] as string)];
  const same = first.findIndex((char, at) => char !== last[at]);
  return same < 0 ? first.join("") : first.slice(0, same).join("");
}

/** The masks of a brain, kept from turn to turn: what one answers depends on its tags and answer lengths alone. */
export class TagMasks {
  readonly #kept = new Map<string, TagMask>();

  constructor(private readonly index: TokenIndex) {}

  of(tags: readonly string[], insertionTokens: ReadonlyMap<string, number>): TagMask {
    if (tags.length > TAGS_MAX)
      throw requestRefused("tags_too_many", "tags", `${tags.length} tags`, `at most ${TAGS_MAX}`);
    const distinct = [...new Set(tags)];
    const key = JSON.stringify([distinct, [...insertionTokens].sort(([a], [b]) => byCodePoint(a, b))]);
    const mask = this.#kept.get(key) ?? new TagMask(this.index, distinct, insertionTokens);
    this.#kept.delete(key); // put back as the newest
    this.#kept.set(key, mask);
    const oldest = this.#kept.keys().next();
    if (this.#kept.size > MASKS_MAX && !oldest.done) this.#kept.delete(oldest.value);
    return mask;
  }
}
