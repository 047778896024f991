/* What an owner can pick, in the engine's order, and how long a name may be. A test holds these to
   `tokenling.engine.LISTS`. */

export const FOODS = ["berry", "plum", "carrot", "bread", "soup", "honey", "nut", "apple"];
export const TOYS = ["ball", "kite", "bell", "blocks", "ribbon", "top"];
export const GIFTS = ["shell", "feather", "button", "scarf", "pebble", "flower", "acorn"];
/** Code points for the engine; an input counts UTF-16 units, which are never fewer. */
export const NAME_MAX = 24;
