/* Foods, toys and gifts, each on a 32 by 32 grid with its foot at the bottom: on the shelf in the nest, in the pickers, in
   the diary, in the pet's paws. Flat shapes and one darker side, as everything in the room. */

import { svg } from "../dom.ts";

type Shape = readonly [name: string, d: string];

const THINGS: Record<string, readonly Shape[]> = {
  berry: [["t-red", "M16 30 C8 30 5 24 6 18 C7 13 12 12 16 14 C20 12 25 13 26 18 C27 24 24 30 16 30 Z"], ["t-shade", "M16 30 C24 30 27 24 26 18 C25.5 15 23.5 13.5 21 13 C24 20 22 27 14 29.800 Z"], ["t-green", "M16 14 C11 14 9 11 8 9 C12 8 14 9 16 12 C18 9 20 8 24 9 C23 11 21 14 16 14 Z"], ["t-glint", "M10 20 a2 3 0 0 1 3 -3 a3 3 0 0 0 -3 3 Z"]],
  plum: [["t-plum", "M16 30 C8 30 4 24 5 17 C6 11 11 9 16 11 C21 9 26 11 27 17 C28 24 24 30 16 30 Z"], ["t-shade", "M16 30 C24 30 28 24 27 17 C26.5 14 25 12 23 11 C26 20 23 27 14 29.800 Z"], ["t-line-wood", "M16 11 C16 7 18 5 20 4"], ["t-green", "M19 6 C22 3 26 4 28 6 C25 9 22 9 19 6 Z"]],
  carrot: [["t-orange", "M9 30 C7 30 7 28 8 26 L17 11 C20 8 26 13 23 17 L12 29 C11 30 10 30.5 9 30 Z"], ["t-shade", "M9 30 L23 17 C25 14 22 11 20.5 10.5 C22 14 19 17 8.5 29 Z"], ["t-green", "M20 12 C18 7 19 4 21 2 C23 4 23 8 22 11 C25 6 28 6 30 7 C29 10 26 12 22 13 Z"]],
  bread: [["t-crust", "M4 18 C4 11 10 9 16 9 C22 9 28 11 28 18 C28 20 27 21 26 21.5 V28 C26 29.5 25 30 24 30 H8 C7 30 6 29.5 6 28 V21.5 C5 21 4 20 4 18 Z"], ["t-cream", "M8 19 C8 14 12 12.5 16 12.5 C20 12.5 24 14 24 19 C23 20 22.5 20.5 22.5 21.5 V27 H9.5 V21.5 C9.5 20.5 9 20 8 19 Z"]],
  soup: [["t-blue", "M3 17 H29 C29 24 24 30 16 30 C8 30 3 24 3 17 Z"], ["t-shade", "M29 17 C29 24 24 30 16 30 C22 28 25 23 25 17 Z"], ["t-orange", "M3 17 C3 14 9 13 16 13 C23 13 29 14 29 17 C29 19 23 20 16 20 C9 20 3 19 3 17 Z"], ["t-line-soft", "M12 10 C10 8 14 6 12 3 M19 10 C17 8 21 6 19 3"]],
  honey: [["t-honey", "M7 12 H25 C27 16 28 20 27 25 C26 29 24 30 21 30 H11 C8 30 6 29 5 25 C4 20 5 16 7 12 Z"], ["t-shade", "M25 12 C27 16 28 20 27 25 C26 29 24 30 21 30 H17 C24 26 24 18 22 12 Z"], ["t-cream", "M6 8 H26 V13 H6 Z"], ["t-crust", "M9 18 H23 V25 H9 Z"]],
  nut: [["t-crust", "M16 31 C9 28 6 22 7 15 H25 C26 22 23 28 16 31 Z"], ["t-wood", "M5 15 C5 10 10 8 16 8 C22 8 27 10 27 15 C27 17 25 17 23 17 H9 C7 17 5 17 5 15 Z"], ["t-line-wood", "M16 8 V4"], ["t-shade", "M16 31 C23 28 26 22 25 15 H21 C22 21 20 27 16 31 Z"]],
  apple: [["t-red", "M16 30 C12 31 5 27 5 19 C5 12 11 10 16 13 C21 10 27 12 27 19 C27 27 20 31 16 30 Z"], ["t-shade", "M16 30 C20 31 27 27 27 19 C27 15 25 12.5 22 12 C24 19 22 26 14 30 Z"], ["t-line-wood", "M16 13 C16 9 17 7 18 5"], ["t-green", "M17 8 C20 4 25 5 26 6 C24 10 20 11 17 8 Z"]],
  ball: [["t-red", "M16 30 A12 12 0 1 1 16 6 A12 12 0 1 1 16 30 Z"], ["t-cream", "M16 6 C10 10 10 26 16 30 C12 30 6 27 4.5 20 C4 13 9 6 16 6 Z"], ["t-honey", "M16 6 C22 10 22 26 16 30 C22 30 28 25 28 18 C28 11 22 6 16 6 Z"], ["t-shade", "M16 30 C23 30 28 25 28 18 C28 15 27 12 25 10 C26 20 22 27 12 29 Z"]],
  kite: [["t-blue", "M16 2 L26 13 L16 26 L6 13 Z"], ["t-honey", "M16 2 L26 13 H16 Z M6 13 H16 V26 Z"], ["t-line-wood", "M16 26 C20 28 12 29 16 31"]],
  bell: [["t-honey", "M16 4 C22 4 24 10 24 16 C24 20 26 22 28 25 H4 C6 22 8 20 8 16 C8 10 10 4 16 4 Z"], ["t-shade", "M16 4 C22 4 24 10 24 16 C24 20 26 22 28 25 H20 C22 18 21 8 16 4 Z"], ["t-wood", "M13 25 H19 A3 3 0 0 1 13 25 Z"]],
  blocks: [["t-red", "M3 18 H15 V30 H3 Z"], ["t-blue", "M17 18 H29 V30 H17 Z"], ["t-honey", "M10 5 H22 V17 H10 Z"], ["t-cream", "M6.5 27 L9 20.5 L11.5 27 Z M20 24 a3 3 0 1 1 6 0 a3 3 0 1 1 -6 0 Z M13.5 8.5 H18.5 V13.5 H13.5 Z"]],
  ribbon: [["t-plum", "M16 14 C10 4 2 8 4 14 C5 19 12 18 16 14 C20 18 27 19 28 14 C30 8 22 4 16 14 Z"], ["t-plum", "M15 15 L8 30 L13 28 L15 31 L17 16 Z M17 15 L24 30 L19 28 L17.5 31 L15.5 16 Z"], ["t-shade", "M13 12 H19 V18 H13 Z"]],
  top: [["t-red", "M5 13 C5 10 27 10 27 13 C27 19 21 23 17 29 H15 C11 23 5 19 5 13 Z"], ["t-honey", "M6 16 C12 18 20 18 26 16 C25 19 23 21 21.5 23 C18 24 14 24 10.5 23 C9 21 7 19 6 16 Z"], ["t-wood", "M14.5 4 H17.5 V11 H14.5 Z M15 29 H17 L16 31 Z"]],
  shell: [["t-pink", "M16 29 C10 29 3 20 4 13 C6 6 12 5 16 5 C20 5 26 6 28 13 C29 20 22 29 16 29 Z"], ["t-line-cream", "M16 28 V7 M16 28 C11 22 9 15 10 8 M16 28 C21 22 23 15 22 8 M15 28 C8 23 6 18 5.5 13 M17 28 C24 23 26 18 26.5 13"], ["t-cream", "M12 27 H20 L19 31 H13 Z"]],
  feather: [["t-blue", "M6 29 C6 18 12 6 26 3 C28 14 22 24 10 26 Z"], ["t-shade", "M26 3 C28 14 22 24 10 26 C18 20 23 12 26 3 Z"], ["t-line-cream", "M4 31 C8 24 14 16 23 7"]],
  button: [["t-honey", "M16 29 A12 12 0 1 1 16 5 A12 12 0 1 1 16 29 Z"], ["t-crust", "M16 26 A9 9 0 1 1 16 8 A9 9 0 1 1 16 26 Z"], ["t-cream", "M12 14 a1.800 1.800 0 1 1 .1 0 Z M20 14 a1.800 1.800 0 1 1 .1 0 Z M12 21 a1.800 1.800 0 1 1 .1 0 Z M20 21 a1.800 1.800 0 1 1 .1 0 Z"]],
  scarf: [["t-red", "M4 8 C10 4 22 4 28 8 L27 15 C21 18 11 18 5 15 Z"], ["t-red", "M19 14 L25 13 L27 30 H19 Z"], ["t-cream", "M8 6 L12 5 L12 17 L8 16.5 Z M20 5 L24 6 L24 16 L20 17 Z M19.5 20 L26 20 V23 H19.5 Z"], ["t-shade", "M22 14 L25 13 L27 30 H23 Z"]],
  pebble: [["t-stone", "M3 25 C3 18 10 14 17 14 C25 14 30 19 29 25 C28 30 4 30 3 25 Z"], ["t-shade", "M29 25 C28 30 8 30 5 27.5 C16 29 25 24 25 16 C28 18 29.5 21 29 25 Z"], ["t-glint", "M9 20 C11 18 13 17 16 17 C13 18 11 20 9 20 Z"]],
  flower: [["t-line-green", "M16 17 V31"], ["t-green", "M16 27 C11 27 9 24 8 21 C13 21 15 23 16 27 Z"], ["t-pink", "M16 13 C13 13 11 10 13 7 C13 3 19 3 19 7 C21 10 19 13 16 13 Z M16 13 C13 15 9 14 8 11 C5 9 9 5 12 7 C15 8 17 10 16 13 Z M16 13 C19 15 23 14 24 11 C27 9 23 5 20 7 C17 8 15 10 16 13 Z M16 13 C13 13 10 16 12 19 C13 22 17 21 17 18 C18 16 17 14 16 13 Z M16 13 C19 13 22 16 20 19 C19 22 15 21 15 18 C14 16 15 14 16 13 Z"], ["t-honey", "M16 16 a3 3 0 1 1 .1 0 Z"]],
  acorn: [["t-crust", "M16 31 C9 28 7 22 8 15 H24 C25 22 23 28 16 31 Z"], ["t-wood", "M6 15 C6 9 11 7 16 7 C21 7 26 9 26 15 C26 16.5 24 17 22 17 H10 C8 17 6 16.5 6 15 Z"], ["t-line-wood", "M16 7 C16 5 17 3 18 2"], ["t-glint", "M12 19 C11 22 12 25 13 27 C10 25 10 21 12 19 Z"]],
  catch: [["t-red", "M20 20 A8 8 0 1 1 20 4 A8 8 0 1 1 20 20 Z"], ["t-shade", "M20 20 A8 8 0 0 0 26 7 C26 13 22 18 15 18.5 C16.5 19.5 18 20 20 20 Z"], ["t-line-soft", "M3 30 C4 25 6 21 10 18 M8 31 C9 28 11 25 14 23"]],
  leaf: [["t-green", "M6 29 C4 16 12 6 27 4 C28 18 20 28 6 29 Z"], ["t-line-cream", "M6 29 C12 20 17 14 23 9"]],
}; // prettier-ignore

const UNKNOWN = "leaf";

/** The shapes of a thing, to stand inside a larger drawing. */
export function thing(name: string): SVGGElement {
  const shapes = THINGS[name] ?? THINGS[UNKNOWN] ?? [];
  return svg("g", { class: "thing", "data-thing": name }, ...shapes.map(([kind, d]) => svg("path", { class: kind, d })));
}

/** A thing as a picture of its own. The words beside it carry the meaning. */
export function thingPicture(name: string): SVGSVGElement {
  return svg("svg", { class: "thing-picture", viewBox: "0 0 32 32", "aria-hidden": "true" }, thing(name));
}
