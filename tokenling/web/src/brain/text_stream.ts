/* Bytes of tokens in, text out: no broken character and no part of a stop ever leaves. */

/** UTF-8 as it comes, byte by byte (Unicode 15, table 3-7). What is no UTF-8 is dropped: a model may write any bytes. */
export class Utf8Reader {
  #owed = 0;
  #low = 0x80;
  #high = 0xbf;
  #point = 0;

  /** The text that these bytes complete. */
  read(data: Uint8Array): string {
    let text = "";
    for (const byte of data) {
      if (this.#owed > 0 && (byte < this.#low || byte > this.#high))
        this.#owed = 0; // the broken beginning is dropped
      else if (this.#owed > 0) {
        this.#point = (this.#point << 6) | (byte & 0x3f);
        [this.#owed, this.#low, this.#high] = [this.#owed - 1, 0x80, 0xbf];
        if (this.#owed === 0) text += String.fromCodePoint(this.#point);
        continue;
      }
      if (byte < 0x80) text += String.fromCharCode(byte);
      else this.#begin(byte);
    }
    return text;
  }

  #begin(lead: number): void {
    const owed = utf8Owed(lead);
    if (owed === null) return; // no lead byte: dropped
    [this.#owed, this.#low, this.#high] = [owed.count, owed.low, owed.high];
    this.#point = lead & (0x3f >> owed.count);
  }
}

/** Continuation bytes that a character still owes: how many, and the least and greatest value of the next one. */
export interface Owed {
  count: number;
  low: number;
  high: number;
}

const NARROW: Record<number, [number, number]> = {
  0xe0: [0xa0, 0xbf],
  0xed: [0x80, 0x9f],
  0xf0: [0x90, 0xbf],
  0xf4: [0x80, 0x8f],
};

/** What a lead byte beyond ASCII owes; null for a byte that leads nothing. */
export function utf8Owed(lead: number): Owed | null {
  if (lead < 0xc2 || lead > 0xf4) return null;
  const [low, high] = NARROW[lead] ?? [0x80, 0xbf];
  return { count: lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3, low, high };
}

/** The text of one generation as it grows. What might become a stop is held back until it cannot. */
export class TextStream {
  /** All that has left so far. */
  text = "";
  stopped = false;
  readonly #reader = new Utf8Reader();
  #held = "";

  constructor(private readonly stops: readonly string[]) {}

  /** The text that `data` sets free; `stopped` is then true if a stop was met. */
  push(data: Uint8Array): string {
    const held = this.#held + this.#reader.read(data);
    const found = this.stops.map((stop) => held.indexOf(stop)).filter((at) => at >= 0);
    if (found.length > 0) {
      this.stopped = true;
      return this.#leave(held.slice(0, Math.min(...found)), "");
    }
    const keep = Math.max(0, ...this.stops.map((stop) => overlap(held, stop)));
    return this.#leave(held.slice(0, held.length - keep), held.slice(held.length - keep));
  }

  /** The rest, when nothing more will come; an unfinished character is dropped. */
  finish(): string {
    return this.#leave(this.#held, "");
  }

  #leave(text: string, held: string): string {
    this.#held = held;
    this.text += text;
    return text;
  }
}

/** How many characters at the end of `text` begin `stop`. */
function overlap(text: string, stop: string): number {
  for (let size = Math.min(stop.length - 1, text.length); size > 0; size -= 1) {
    if (text.endsWith(stop.slice(0, size))) return size;
  }
  return 0;
}
