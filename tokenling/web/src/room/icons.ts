/* Drawings of our own for the page around the room. Line icons on a 24 by 24 grid; care and offers as small pictures on the
   grid of the room's things. All are decorative: the words beside them carry the meaning. */

import { svg } from "./dom.ts";

const LINES: Record<string, readonly string[]> = {
  fullness: ["M4.5 11h15a7.5 7.5 0 0 1-15 0Z", "M8.5 20.5h7", "M9.5 7.5c0-2 2-2 2-4", "M13.5 7.5c0-2 2-2 2-4"],
  energy: ["M13 3 6 13h5l-1 8 8-11h-6l1-7Z"],
  mood: ["M12 3.5a8.5 8.5 0 1 1 0 17 8.5 8.5 0 0 1 0-17Z", "M8.5 14c1.6 2.6 5.4 2.6 7 0", "M9 9.600v.2", "M15 9.600v.2"],
  hygiene: ["M12 3.5c4 5 6 7.6 6 11a6 6 0 0 1-12 0c0-3.4 2-6 6-11Z", "M9.3 14.800a2.7 2.7 0 0 0 2.5 2.5"],
  warmth: ["M12 20.5c-4.5 0-7-3-6-7 .6-2.5 2.5-3.5 2.5-6 2 .8 2.6 2.4 2.6 4C13 10 13 7 12 3.5c4 2 7 6 6.5 10.5-.3 4-3 6.5-6.5 6.5Z"],
  bond: ["M12 20C4 14 3 10.5 4.2 7.8 5.8 4.5 10 4.6 12 8c2-3.4 6.2-3.5 7.8-.2C21 10.5 20 14 12 20Z"],
  talk: ["M5 5h14a2 2 0 0 1 2 2v7a2 2 0 0 1-2 2h-8l-5 4v-4H5a2 2 0 0 1-2-2V7a2 2 0 0 1 2-2Z", "M8 9.5h8", "M8 12.5h5"],
  diary: ["M6 3.5h12v17H6a2 2 0 0 1-2-2v-13a2 2 0 0 1 2-2Z", "M8 3.5v17", "M11 8h4", "M11 11h4"],
  life: ["M12 21v-9", "M12 13c-5 0-7-3-7-7 4 0 7 2 7 7Z", "M12 11c0-4 3-6 7-6 0 4-2 7-7 7"],
  house: ["M4 11.5 12 4l8 7.5", "M6 10v10h12V10", "M10 20v-5h4v5"],
  sound: ["M4 10v4h3l5 4V6l-5 4H4Z", "M15.5 9a4 4 0 0 1 0 6", "M18 6.5a8 8 0 0 1 0 11"],
  mute: ["M4 10v4h3l5 4V6l-5 4H4Z", "m16 10 4 4", "m20 10-4 4"],
  moon: ["M19.5 14.5A8 8 0 0 1 9.5 4.5a8 8 0 1 0 10 10Z"],
  send: ["M4 12 20 5l-5 15-3-6-8-2Z", "m12 14 8-9"],
  close: ["m6 6 12 12", "m18 6-12 12"],
  back: ["m14 6-6 6 6 6"],
  down: ["M12 5v14", "m6 13 6 6 6-6"],
  next: ["m10 6 6 6-6 6"],
  first: ["m17 6-6 6 6 6", "M7 6v12"],
  last: ["m7 6 6 6-6 6", "M17 6v12"],
  mind: ["M12 4a7 7 0 0 1 4.5 12.300c-.9.8-1.5 1.5-1.5 2.700H9c0-1.2-.6-1.9-1.5-2.700A7 7 0 0 1 12 4Z", "M9.5 21.5h5", "M12 8v4", "M10 10h4"],
  check: ["m5 12.5 4.5 4.5L19 7.5"],
  almost: ["M5 10c2.5-2.5 4.5-2.5 7 0s4.5 2.5 7 0", "M5 15c2.5-2.5 4.5-2.5 7 0s4.5 2.5 7 0"],
  differs: ["M6 9h12", "M6 15h12", "m15 5-6 14"],
  unknown: ["M9 9a3 3 0 1 1 4.5 2.600c-1 .6-1.5 1.2-1.5 2.4", "M12 17.5v.2"],
  warn: ["M12 4 21 20H3L12 4Z", "M12 10v4.5", "M12 17.200v.2"],
  bell: ["M6 17V11a6 6 0 0 1 12 0v6l1.5 1.5h-15L6 17Z", "M10.5 21h3"],
  file: ["M6 3.5h8l4 4v13H6v-17Z", "M14 3.5v4h4", "M12 11v6", "m9.5 14.5 2.5 2.5 2.5-2.5"],
  card: ["M3.5 6.5h17v11h-17v-11Z", "M6.5 9.5h4v4h-4v-4Z", "M13.5 10h4", "M13.5 13h4"],
  camera: ["M4 8h3l1.5-2h7L17 8h3v11H4V8Z", "M12 10.5a3 3 0 1 1 0 6 3 3 0 0 1 0-6Z"],
  move: ["M4 12h15", "m13 6 6 6-6 6"],
  pets: ["M7 11.5a2 2 0 1 1 .1 0Z", "M17 11.5a2 2 0 1 1 .1 0Z", "M10 7.5a2 2 0 1 1 .1 0Z", "M14.5 7.5a2 2 0 1 1 .1 0Z", "M12 12c3 0 5 2.5 5 5s-2.5 2.5-5 2-5 .5-5-2 2-5 5-5Z"],
  phone: ["M8 3.5h8v17H8v-17Z", "M11 17.5h2"],
  leaf: ["M5 19C4 10 10 4 20 4c0 10-6 16-15 15Z", "M5 19c4-4 7-7 11-10"],
}; // prettier-ignore

export function icon(name: string): SVGSVGElement {
  const paths = (LINES[name] ?? []).map((d) => svg("path", { d }));
  return svg("svg", { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true" }, ...paths);
}

type Shape = readonly [name: string, d: string];

const PICTURES: Record<string, readonly Shape[]> = {
  feed: [["t-blue", "M4 17 H28 C28 24 23 28 16 28 C9 28 4 24 4 17 Z"], ["t-shade", "M28 17 C28 24 23 28 16 28 C21 26 24 22 24 17 Z"], ["t-orange", "M4 17 C4 14.5 9 13.5 16 13.5 C23 13.5 28 14.5 28 17 C28 18.6 23 19.6 16 19.6 C9 19.6 4 18.6 4 17 Z"], ["t-line-soft", "M12 10.5 C10 8.5 14 6.5 12 4 M19 10.5 C17 8.5 21 6.5 19 4"]],
  wash: [["t-cream", "M11 12 a4 4 0 1 1 .1 0 Z M18 9 a5 5 0 1 1 .1 0 Z M23 14 a3.5 3.5 0 1 1 .1 0 Z"], ["t-bubble", "M11 12 a4 4 0 1 1 .1 0 Z M18 11 a5 5 0 1 1 .1 0 Z M24 14 a3 3 0 1 1 .1 0 Z"], ["t-teal", "M3 15 H29 V18 C29 24 25 27 20 27 H12 C7 27 3 24 3 18 Z"], ["t-shade", "M29 15 V18 C29 24 25 27 20 27 H16 C22 26 25 22 25 15 Z"], ["t-wood", "M9 27 L8 30 H11 L12 27 Z M20 27 L21 30 H24 L23 27 Z"]],
  tuck: [["t-cream", "M4 12 C4 9 8 9 12 9 C16 9 19 9 19 12 V16 H4 Z"], ["t-plum", "M3 15 C10 12 22 12 29 15 V27 C22 29 10 29 3 27 Z"], ["t-lilac", "M3 15 H11.6 V21 H3 Z M11.6 21 H20.3 V28.3 H11.6 Z M20.3 13.3 C24 13.6 27 14.2 29 15 V21 H20.3 Z"], ["t-line-cream", "M11.6 14 V28 M20.3 13.5 V28 M3 21 H29"]],
  stroke: [["t-skin", "M9 19 V10.5 C9 8.5 12 8.5 12 10.5 V7 C12 5 15.2 5 15.2 7 V6 C15.2 4 18.4 4 18.4 6 V8 C18.4 6.2 21.5 6.2 21.5 8 V18 C23 15.5 26.5 16 25.5 18.5 L21.5 26 C20.5 28 19 29 16.5 29 C12 29 9 26 9 21 Z"], ["t-shade", "M21.5 18 C23 15.5 26.5 16 25.5 18.5 L21.5 26 C20.5 28 19 29 16.5 29 C20 26 21.5 23 21.5 18 Z"], ["t-pink", "M6 8 C3 5.5 4.5 3 6 4.5 C7.5 3 9 5.5 6 8 Z"]],
  lamp: [["t-line-wood", "M16 2 V7"], ["t-wood", "M12 6 H20 V8.5 H12 Z M13 25.5 H19 V28 H13 Z"], ["t-lamp", "M16 8 C24 8 26.5 13 26.5 17 C26.5 21.5 23 26 16 26 C9 26 5.5 21.5 5.5 17 C5.5 13 8 8 16 8 Z"], ["t-shade", "M16 8 C24 8 26.5 13 26.5 17 C26.5 21.5 23 26 16 26 C21 23 22 20 22 17 C22 13.5 20 10 16 8 Z"], ["t-line-gold", "M6 14 C10 15.5 22 15.5 26 14 M6 20 C10 21.5 22 21.5 26 20"]],
  gift: [["t-red", "M5 15 H27 V29 H5 Z"], ["t-pink", "M3.5 10.5 H28.5 V16 H3.5 Z"], ["t-honey", "M13.8 10.5 H18.2 V29 H13.8 Z"], ["t-honey", "M16 10.5 C10 10.5 7 8 9 5.5 C11.5 3 15 6 16 10.5 C17 6 20.5 3 23 5.5 C25 8 22 10.5 16 10.5 Z"], ["t-shade", "M22 15 H27 V29 H17 C20 26 22 21 22 15 Z"]],
}; // prettier-ignore

/** A small picture for a care or an offer. */
export function picture(name: string): SVGSVGElement {
  const shapes = (PICTURES[name] ?? []).map(([kind, d]) => svg("path", { class: kind, d }));
  return svg("svg", { class: "thing-picture", viewBox: "0 0 32 32", "aria-hidden": "true" }, ...shapes);
}
