/* What an owner can pick, in the engine's order. A test holds these to `tokenling.engine.LISTS`. */

export const FOODS = ["berry", "plum", "carrot", "bread", "soup", "honey", "nut", "apple"];
export const TOYS = ["ball", "kite", "bell", "blocks", "ribbon", "top"];
export const GIFTS = ["shell", "feather", "button", "scarf", "pebble", "flower", "acorn"];
