/* Text to token ids, and each id's own bytes: all that decoding needs, so generated text never leaves byte order. */

import { Tokenizer as HubTokenizer } from "@huggingface/tokenizers";

import { brainRefused } from "./problem.ts";
import { isObject } from "./request.ts";
import type { TokenTable } from "./token_index.ts";

type Document = Record<string, unknown>;

/** A byte-level BPE tokenizer. Special tokens are never read out of text: what an owner types stays text. */
export class Tokenizer {
  constructor(
    private readonly inner: HubTokenizer,
    readonly table: TokenTable,
  ) {}

  /** The ids of `text`, nothing added in front or behind. */
  encode(text: string): number[] {
    return this.inner.encode(text, { add_special_tokens: false }).ids;
  }
}

/** The tokenizer that `tokenizer.json` holds; its ids must lie below `vocabulary`. Throws a `BrainProblem`. */
export function loadTokenizer(document: Document, vocabulary: number): Tokenizer {
  for (const field of ["pre_tokenizer", "decoder"]) checkByteLevel(document, field);
  const model = isObject(document["model"]) ? document["model"] : {};
  const added = addedTokens(document);
  const table = tokenTable(spellingsOf(model), added, vocabulary);
  return new Tokenizer(open(document, added), table);
}

/** Refuses a tokenizer whose tokens are not spelled in the byte alphabet: their bytes could not be known. */
function checkByteLevel(document: Document, field: string): void {
  const kinds = kindsOf(document[field]);
  if (kinds.includes("ByteLevel")) return;
  throw brainRefused("tokenizer_kind", `tokenizer.json ${field}`, kinds.join(", ") || "nothing", "a ByteLevel one");
}

function kindsOf(value: unknown): string[] {
  if (!isObject(value)) return [];
  const members = [value["pretokenizers"], value["decoders"]].flat().filter(isObject);
  return [value, ...members].map((part) => String(part["type"]));
}

interface AddedToken {
  id: number;
  content: string;
  special: boolean;
}

function addedTokens(document: Document): AddedToken[] {
  const entries = Array.isArray(document["added_tokens"]) ? document["added_tokens"].filter(isObject) : [];
  return entries.flatMap(({ id, content, special }) => {
    return typeof id === "number" && Number.isInteger(id)
      ? [{ id, content: String(content), special: Boolean(special) }]
      : [];
  });
}

/** The library reads added tokens out of any text, and knows no switch for it: it never hears of the special ones. Nor
    of the post-processor, which could only add tokens. */
function open(document: Document, added: readonly AddedToken[]): HubTokenizer {
  const special = new Set(added.filter((token) => token.special).map((token) => token.id));
  const plain = Array.isArray(document["added_tokens"]) ? document["added_tokens"] : [];
  const known = plain.filter((entry: unknown) => isObject(entry) && !special.has(entry["id"] as number));
  const settings = { ...document, added_tokens: known, post_processor: null, truncation: null, padding: null };
  try {
    return new HubTokenizer(settings as never, { clean_up_tokenization_spaces: false } as never);
  } catch (error) {
    const found = error instanceof Error ? error.message : "an error";
    throw brainRefused("tokenizer_unreadable", "tokenizer.json", found, "a tokenizer that loads");
  }
}

function spellingsOf(model: Document): [string, number][] {
  const vocab = isObject(model["vocab"]) ? model["vocab"] : {};
  return Object.entries(vocab).filter((entry): entry is [string, number] => Number.isInteger(entry[1]));
}

/** Every id's bytes. Refuses an id outside the model's vocabulary and a spelling outside the byte alphabet. */
function tokenTable(spellings: [string, number][], added: readonly AddedToken[], vocabulary: number): TokenTable {
  const ids = [...spellings.map(([, id]) => id), ...added.map((token) => token.id)];
  const size = 1 + ids.reduce((most, id) => Math.max(most, id), -1);
  if (size === 0) throw brainRefused("tokenizer_empty", "tokenizer.json vocab", "no token", "at least one token");
  if (size > vocabulary) {
    throw brainRefused(
      "tokenizer_range",
      "tokenizer.json vocab",
      `id ${size - 1}`,
      `ids below vocab_size ${vocabulary}`,
    );
  }
  const own = new Map(added.map((token) => [token.id, token]));
  const alphabet = byteAlphabet();
  const table: (Uint8Array | null)[] = new Array<null>(size).fill(null);
  for (const [spelling, id] of spellings) if (!own.has(id)) table[id] = spelled(spelling, alphabet);
  for (const { id, content, special } of added) table[id] = new TextEncoder().encode(special ? "" : content);
  return table;
}

function spelled(spelling: string, alphabet: ReadonlyMap<string, number>): Uint8Array {
  const bytes = Array.from(spelling, (char) => alphabet.get(char));
  if (bytes.includes(undefined)) {
    throw brainRefused("tokenizer_token", "tokenizer.json vocab", spelling, "a spelling in the byte-level alphabet");
  }
  return Uint8Array.from(bytes as number[]);
}

/** The character that stands for each byte in byte-level BPE (GPT-2): itself if printable, else from U+0100 on. */
function byteAlphabet(): Map<string, number> {
  const printable = (byte: number) => (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte !== 0xad);
  const alphabet = new Map<string, number>();
  let others = 0;
  for (let byte = 0; byte < 256; byte += 1) {
    alphabet.set(String.fromCodePoint(printable(byte) ? byte : 0x100 + others++), byte);
  }
  return alphabet;
}
