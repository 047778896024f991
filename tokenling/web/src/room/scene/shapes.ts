/* The few shapes that the stills of the places are made of. */

import { svg } from "../dom.ts";
import { VIEW } from "./sky.ts";

export function layer(name: string, kind: "back" | "front", ...shapes: (SVGElement | null)[]): SVGSVGElement {
  return svg("svg", { class: `layer ${kind} place-${name}`, ...VIEW }, ...shapes);
}

export function path(name: string, d: string): SVGPathElement {
  return svg("path", { class: name, d });
}

export function block(name: string, x: number, y: number, width: number, height: number, rx = 0): SVGRectElement {
  return svg("rect", { class: name, x, y, width, height, rx });
}

export function oval(name: string, cx: number, cy: number, rx: number, ry: number): SVGEllipseElement {
  return svg("ellipse", { class: name, cx, cy, rx, ry });
}
