/* The six places, each a still drawing with holes where its windows are, and what stands before the pet. The sky behind
   moves, the pet within moves; a place itself is painted once. */

import { attic, hearth, nest, nestFront, windowSeat } from "./indoors.ts";
import { garden, gardenFront, pond, pondFront } from "./outdoors.ts";

export interface Place {
  /** Where the pet's feet are, and how large it is there. */
  readonly spot: { readonly x: number; readonly y: number; readonly size: number };
  /** How the view outside is laid behind the windows. */
  readonly vista: { readonly x: number; readonly y: number; readonly size: number };
  /** The box of what is seen of it, left, top, right, bottom; all of it under the open sky. What moves outside is drawn no
      further. */
  readonly seen: readonly [number, number, number, number] | null;
  readonly back: () => SVGSVGElement;
  readonly front: () => SVGSVGElement | null;
}

export const PLACES: Record<string, Place> = {
  nest: { spot: { x: 318, y: 540, size: 1.14 }, vista: { x: -92, y: 116, size: 0.64 }, seen: [76, 110, 240, 368], back: nest, front: nestFront },
  window: { spot: { x: 322, y: 432, size: 0.94 }, vista: { x: -20, y: -6, size: 1 }, seen: [94, 82, 546, 406], back: windowSeat, front: () => null },
  hearth: { spot: { x: 248, y: 560, size: 1.12 }, vista: { x: -48, y: 118, size: 0.46 }, seen: [68, 126, 233, 290], back: hearth, front: () => null },
  garden: { spot: { x: 320, y: 566, size: 1.14 }, vista: { x: 0, y: -36, size: 1 }, seen: null, back: garden, front: gardenFront },
  pond: { spot: { x: 236, y: 522, size: 0.98 }, vista: { x: 0, y: -56, size: 1 }, seen: null, back: pond, front: pondFront },
  attic: { spot: { x: 330, y: 566, size: 1.1 }, vista: { x: 6, y: 96, size: 0.56 }, seen: [124, 88, 342, 272], back: attic, front: () => null },
};
export const PLACE_OF_NOBODY = "nest";
export const OUTDOORS = new Set(["garden", "pond"]);
