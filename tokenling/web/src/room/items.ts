/* What an owner can pick, in the engine's order, and how long words may be. A test holds these to `tokenling.engine.LISTS`
   and its bounds. */

export const FOODS = ["berry", "plum", "carrot", "bread", "soup", "honey", "nut", "apple"] as const;
export const TOYS = ["ball", "kite", "bell", "blocks", "ribbon", "top"] as const;
export const GIFTS = ["shell", "feather", "button", "scarf", "pebble", "flower", "acorn"] as const;
export const CARE = ["feed", "wash", "tuck", "stroke", "lamp"] as const;
export const OFFERS = ["food", "toy", "gift", "catch"] as const;
/** Idle slots a waking hour that an owner may choose. */
export const CHATTERS = [0, 1, 2, 4] as const;
/** Code points for the engine; an input counts UTF-16 units, which are never fewer. */
export const NAME_MAX = 24;
/** Code points of what an owner says at once. */
export const TEXT_MAX = 400;

/** What an owner typed, without the halves of letters that a cut pasting leaves: no host and no engine takes those. */
export function typedText(value: string): string {
  return value.replace(/\p{Surrogate}/gu, "").trim();
}

export function codePoints(text: string): number {
  return [...text].length;
}
