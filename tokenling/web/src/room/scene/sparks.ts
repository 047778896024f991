/* Small shapes that rise from the pet and fade: an effect shown once. */

import { svg } from "../dom.ts";

const SHAPES = {
  heart: ["spark-heart", "M0 12 C-18 -1 -11 -14 0 -6 C11 -14 18 -1 0 12 Z"],
  crumb: ["spark-crumb", "M-6 -2 C-6 -8 4 -8 6 -2 C8 4 -2 8 -6 4 Z M10 8 a3 3 0 1 1 .1 0 Z M-10 10 a2 2 0 1 1 .1 0 Z"],
  bubble: ["spark-bubble", "M0 11 A11 11 0 1 1 .1 11 Z M-4 -6 a4 4 0 0 0 -3 5"],
  note: ["spark-note", "M-5 9 V-13 L9 -16 V-10 L-1 -8 V9 A6 4.5 0 1 1 -5 9 Z"],
  star: ["spark-star", "M0 -13 L3.600 -3.600 L13 0 L3.600 3.600 L0 13 L-3.600 3.600 L-13 0 L-3.600 -3.600 Z"],
  leaf: ["spark-leaf", "M0 12 C-13 3 -11 -9 0 -14 C11 -9 13 3 0 12 Z"],
  drop: ["spark-drop", "M0 -12 C7 -3 9 1 8 5 A8 8 0 0 1 -8 5 C-9 1 -7 -3 0 -12 Z"],
} as const;

export type SparkKind = keyof typeof SHAPES;

export function spark(kind: SparkKind, x: number, y: number, index: number): SVGGElement {
  const [name, d] = SHAPES[kind];
  return svg("g", { transform: `translate(${x} ${y})` }, svg("path", { class: `spark spark-${index} ${name}`, d }));
}
