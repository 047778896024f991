/* The pet, drawn once in all its stages. What shows (stage, face, posture, blanket) is said by attributes of the room
   around it and done in scene.css. Sprout and markings come from its traits, the colour from its hue. */

import { svg } from "../dom.ts";

interface Size {
  readonly w: number;
  readonly h: number;
  readonly face: number;
  readonly gap: number;
  readonly eye: number;
  readonly leaf: number;
}

const SIZES: Record<"hatchling" | "child" | "adult", Size> = {
  hatchling: { w: 66, h: 116, face: 0.56, gap: 25, eye: 1.02, leaf: 0.78 },
  child: { w: 76, h: 146, face: 0.56, gap: 29, eye: 1.1, leaf: 1.02 },
  adult: { w: 92, h: 186, face: 0.585, gap: 35, eye: 1.22, leaf: 1.28 },
};
export const STAGES: readonly string[] = ["egg", "hatchling", "child", "adult"];
/** How high the head of each stage is, with its sprout; words hang above it. */
export const HEAD: Record<string, number> = { egg: 148, hatchling: 158, child: 198, adult: 252 };

/** How a sprout grows, by the pet's first trait; leaves the rest to the pair of leaves. */
const SPROUT_OF_TRAIT: Record<string, string> = {
  shy: "droop", quiet: "droop", sleepy: "droop", dreamy: "curl", curious: "curl", cheeky: "curl",
  bold: "tuft", brave: "tuft", playful: "tuft", greedy: "pair", tidy: "pair", gentle: "pair",
}; // prettier-ignore
/** What the second trait paints on its coat. */
const MARKS_OF_TRAIT: Record<string, string> = {
  shy: "freckles", gentle: "freckles", dreamy: "freckles", bold: "stripes", brave: "stripes", playful: "stripes",
  cheeky: "spots", greedy: "spots", curious: "spots", sleepy: "mask", tidy: "mask", quiet: "mask",
}; // prettier-ignore

export function sproutOf(traits: readonly string[]): string {
  return SPROUT_OF_TRAIT[traits[0] ?? ""] ?? "pair";
}

export function marksOf(traits: readonly string[]): string {
  return MARKS_OF_TRAIT[traits[1] ?? ""] ?? "freckles";
}

export function makeCreature(): SVGGElement {
  return svg(
    "g",
    { class: "creature" },
    svg("circle", { class: "burst", cx: 0, cy: -70, r: 120, fill: "url(#glow)" }),
    svg(
      "g",
      { class: "mover" },
      svg("g", { class: "breather" }, egg(), body("hatchling"), body("child"), body("adult"), shellCap()),
      held(),
    ),
    blanket(),
  );
}

function path(name: string, d: string): SVGPathElement {
  return svg("path", { class: name, d });
}

function egg(): SVGGElement {
  const outline = "M0 2 C-48 2 -66 -32 -62 -64 C-56 -108 -30 -142 0 -142 C30 -142 56 -108 62 -64 C66 -32 48 2 0 2 Z";
  return svg(
    "g",
    { class: "stage stage-egg" },
    svg("clipPath", { id: "egg-clip" }, svg("path", { d: outline })),
    path("shell-shade", outline),
    svg(
      "g",
      { "clip-path": "url(#egg-clip)" },
      svg("ellipse", { class: "shell", cx: -12, cy: -78, rx: 66, ry: 82 }),
      path("egg-band", "M-80 -58 C-50 -44 -34 -70 -10 -58 C14 -46 30 -70 80 -54 V-30 C40 -42 20 -20 -6 -32 C-30 -44 -50 -20 -80 -34 Z"),
      path(
        "egg-dots",
        "M-30 -102 a7 8 0 1 1 .1 0 Z M18 -112 a6 7 0 1 1 .1 0 Z M34 -80 a5 6 0 1 1 .1 0 Z M-6 -88 a5 6 0 1 1 .1 0 Z M-24 -8 a6 6 0 1 1 .1 0 Z M26 -10 a6 6 0 1 1 .1 0 Z",
      ),
      path("shell-light", "M-40 -96 C-36 -116 -26 -128 -14 -132 C-24 -120 -32 -106 -34 -92 C-36 -86 -42 -88 -40 -96 Z"),
    ),
    path("crack crack-1", "M-26 -126 l10 12 l-6 10 l12 8 l-2 10"),
    path("crack crack-2", "M22 -112 l-8 14 l10 8 l-9 13 l7 9 M-60 -60 l16 -6 l8 9 l12 -9"),
    path("crack crack-3", "M-60 -54 l18 -10 l14 12 l16 -12 l14 12 l18 -13 l14 12 l26 -9"),
  );
}

/** The upper half of the shell, which falls away when it hatches. */
function shellCap(): SVGGElement {
  const d = "M-60 -58 C-54 -106 -30 -142 0 -142 C30 -142 54 -106 60 -58 L42 -68 L26 -54 L8 -70 L-10 -54 L-26 -68 L-44 -52 Z";
  return svg(
    "g",
    { class: "shell-cap" },
    path("shell", d),
    path("shell-light", "M-40 -96 C-36 -116 -26 -128 -14 -132 C-24 -120 -32 -106 -34 -92 C-36 -86 -42 -88 -40 -96 Z"),
    path("egg-dots", "M-30 -102 a7 8 0 1 1 .1 0 Z M18 -112 a6 7 0 1 1 .1 0 Z M34 -80 a5 6 0 1 1 .1 0 Z"),
  );
}

/** What the diary keeps of the egg. */
export function shellPicture(): SVGSVGElement {
  return svg("svg", { class: "shell-picture", viewBox: "-72 -150 144 104", "aria-hidden": "true" }, shellCap());
}

function outlineOf({ w, h }: Size): string {
  return (
    `M${-w * 0.99} ${-h * 0.29} C${-w * 1.03} ${-h * 0.74} ${-w * 0.66} ${-h} 0 ${-h} ` +
    `C${w * 0.66} ${-h} ${w * 1.03} ${-h * 0.74} ${w * 0.99} ${-h * 0.29} ` +
    `C${w * 0.98} ${-h * 0.02} ${w * 0.6} 0 0 0 C${-w * 0.6} 0 ${-w * 0.98} ${-h * 0.02} ${-w * 0.99} ${-h * 0.29} Z`
  );
}

function body(name: "hatchling" | "child" | "adult"): SVGGElement {
  const size = SIZES[name];
  const { w, h } = size;
  const outline = outlineOf(size);
  const clip = `coat-${name}`;
  return svg(
    "g",
    { class: `stage stage-${name}` },
    svg("clipPath", { id: clip }, svg("path", { d: outline })),
    svg(
      "g",
      { class: "tilt" },
      svg("g", { class: "feet" }, foot(-w * 0.44, w), foot(w * 0.44, w)),
      sprout(name, size),
      path("coat-dark", outline),
      svg(
        "g",
        { "clip-path": `url(#${clip})` },
        svg("ellipse", { class: "coat", cx: -w * 0.16, cy: -h * 0.56, rx: w * 1.06, ry: h * 0.6 }),
        svg("ellipse", {
          class: "coat-light",
          cx: -w * 0.36,
          cy: -h * 0.86,
          rx: w * 0.5,
          ry: h * 0.2,
          transform: `rotate(-14 ${-w * 0.36} ${-h * 0.86})`,
        }),
        svg("ellipse", { class: "belly", cx: 0, cy: -h * 0.06, rx: w * 0.62, ry: h * 0.3 }),
        marks(size),
      ),
      arm(size, -1),
      arm(size, 1),
      face(size),
    ),
    name === "hatchling" ? halfShell(w) : null,
  );
}

function foot(x: number, w: number): SVGGElement {
  return svg(
    "g",
    {},
    svg("ellipse", { class: "foot", cx: x, cy: -2, rx: w * 0.24, ry: w * 0.13 }),
    svg("ellipse", { class: "foot-light", cx: x - 2, cy: -5, rx: w * 0.15, ry: w * 0.06 }),
  );
}

function arm({ w, h }: Size, side: 1 | -1): SVGGElement {
  const x = side * w * 0.9;
  return svg(
    "g",
    { class: `arm ${side < 0 ? "left" : "right"}`, transform: `translate(${x} ${-h * 0.4})` },
    svg("path", {
      class: "arm-shape",
      d: `M${-side * 8} -10 C${side * 12} -14 ${side * 22} 6 ${side * 14} 24 C${side * 6} 34 ${-side * 10} 24 ${-side * 10} 8 Z`,
    }),
  );
}

function marks({ w, h }: Size): SVGGElement {
  const dot = (x: number, y: number, r: number) => svg("circle", { cx: w * x, cy: -h * y, r: w * r });
  const blob = (x: number, y: number, rx: number, ry: number, turn: number) =>
    svg("ellipse", { cx: w * x, cy: -h * y, rx: w * rx, ry: h * ry, transform: `rotate(${turn} ${w * x} ${-h * y})` });
  return svg(
    "g",
    { class: "marks" },
    svg(
      "g",
      { class: "mark freckles" },
      ...[-1, 1].flatMap((side) => [dot(side * 0.66, 0.36, 0.028), dot(side * 0.78, 0.4, 0.024), dot(side * 0.74, 0.32, 0.024)]),
    ),
    svg(
      "g",
      { class: "mark stripes" },
      blob(-0.86, 0.66, 0.16, 0.03, -24),
      blob(-0.94, 0.54, 0.14, 0.028, -12),
      blob(0.86, 0.66, 0.16, 0.03, 24),
      blob(0.94, 0.54, 0.14, 0.028, 12),
      blob(0, 0.95, 0.045, 0.07, 0),
      blob(-0.16, 0.94, 0.04, 0.05, 14),
      blob(0.16, 0.94, 0.04, 0.05, -14),
    ),
    svg(
      "g",
      { class: "mark spots" },
      blob(0.56, 0.86, 0.17, 0.08, 30),
      blob(0.84, 0.7, 0.1, 0.06, 40),
      blob(-0.86, 0.24, 0.13, 0.07, 20),
      blob(-0.5, 0.93, 0.09, 0.045, -20),
    ),
    svg("g", { class: "mark mask" }, blob(0, 0.5, 0.74, 0.15, 0)),
  );
}

function halfShell(w: number): SVGGElement {
  const r = w + 5;
  const d = `M${-r} -34 L${-r * 0.72} -46 L${-r * 0.44} -32 L${-r * 0.14} -48 L${r * 0.16} -33 L${r * 0.46} -47 L${r * 0.74} -33 L${r} -40 C${r + 2} -8 ${r * 0.62} 6 0 6 C${-r * 0.62} 6 ${-r - 2} -8 ${-r} -34 Z`;
  return svg(
    "g",
    { class: "half-shell" },
    svg("clipPath", { id: "shell-clip" }, svg("path", { d })),
    path("shell-shade", d),
    svg(
      "g",
      { "clip-path": "url(#shell-clip)" },
      svg("ellipse", { class: "shell", cx: -10, cy: -30, rx: w * 1.02, ry: 38 }),
      path("egg-dots", "M-34 -14 a6 6 0 1 1 .1 0 Z M22 -8 a7 6 0 1 1 .1 0 Z M46 -20 a4 5 0 1 1 .1 0 Z M-8 -26 a4 5 0 1 1 .1 0 Z"),
    ),
  );
}

const BLADE = "M0 0 C-4 -18 -26 -30 -44 -22 C-40 -4 -18 8 0 0 Z";
const VEIN = "M-4 -3 C-16 -8 -26 -14 -36 -19";

function sprout(name: string, { h, leaf }: Size): SVGGElement {
  return svg(
    "g",
    { class: "sprout", transform: `translate(0 ${-h + 5}) scale(${leaf})` },
    svg(
      "g",
      { class: "sway" },
      path("stem", "M0 4 C2 -6 -1 -14 0 -22"),
      svg("g", { transform: "translate(0 -19)" }, ...leafShapes(), name === "adult" ? flower() : name === "child" ? bud() : null),
    ),
  );
}

function leafShapes(): SVGGElement[] {
  const pair = svg(
    "g",
    { class: "leaves pair" },
    path("leaf-mid", BLADE),
    path("leaf-vein", VEIN),
    svg("g", { transform: "scale(-1 1)" }, path("leaf-light", BLADE), path("leaf-vein", VEIN)),
  );
  const droop = svg(
    "g",
    { class: "leaves droop" },
    svg("g", { transform: "rotate(-38)" }, path("leaf-mid", BLADE), path("leaf-vein", VEIN)),
    svg("g", { transform: "scale(-1 1) rotate(-38)" }, path("leaf-light", BLADE), path("leaf-vein", VEIN)),
  );
  const curl = svg(
    "g",
    { class: "leaves curl" },
    path("curl-line", "M0 2 C0 -20 18 -34 30 -24 C40 -14 28 -2 20 -10 C16 -16 22 -20 25 -17"),
    svg("g", { transform: "rotate(14)" }, path("leaf-mid", BLADE), path("leaf-vein", VEIN)),
  );
  const tuft = svg(
    "g",
    { class: "leaves tuft" },
    svg("g", { transform: "rotate(28) scale(0.86)" }, path("leaf-mid", BLADE)),
    svg("g", { transform: "scale(-1 1) rotate(28) scale(0.86)" }, path("leaf-mid", BLADE)),
    path("leaf-light", "M0 2 C-14 -14 -14 -36 0 -50 C14 -36 14 -14 0 2 Z"),
  );
  return [pair, droop, curl, tuft];
}

function flower(): SVGGElement {
  const petals = [0, 72, 144, 216, 288].map((turn) =>
    svg("ellipse", { class: "crown-petal", cx: 0, cy: -9, rx: 6.5, ry: 9, transform: `rotate(${turn})` }),
  );
  return svg("g", { class: "flower", transform: "translate(0 -13)" }, ...petals, svg("circle", { class: "bloom-heart", r: 5.5 }));
}

function bud(): SVGGElement {
  return svg(
    "g",
    { class: "bud", transform: "translate(0 -6)" },
    path("crown-petal", "M0 2 C-10 -4 -9 -18 0 -24 C9 -18 10 -4 0 2 Z"),
    path("leaf-mid", "M-9 -3 C-8 4 8 4 9 -3 C4 -6 -4 -6 -9 -3 Z"),
  );
}

/** Every expression at once; the one that fits is shown. */
function face({ h, face: height, gap, eye }: Size): SVGGElement {
  const x = gap / eye;
  const both = (name: string, make: (x: number, side: 1 | -1) => SVGElement) =>
    svg("g", { class: `eyes ${name}` }, make(-x, -1), make(x, 1));
  return svg(
    "g",
    { class: "face", transform: `translate(0 ${-h * height}) scale(${eye})` },
    svg(
      "g",
      { class: "cheeks" },
      svg("ellipse", { class: "cheek", cx: -x - 14, cy: 15, rx: 10, ry: 6.5 }),
      svg("ellipse", { class: "cheek", cx: x + 14, cy: 15, rx: 10, ry: 6.5 }),
    ),
    svg("g", { class: "gaze" }, both("open", openEye), both("wide", wideEye), both("half", halfEye)),
    both("glad", (at) => path("lid", `M${at - 9} 3 Q${at} -10 ${at + 9} 3`)),
    both("shut", (at) => path("lid", `M${at - 9} 0 Q${at} 8 ${at + 9} 0`)),
    both("brows-up", (at, side) => path("brow", `M${at - 7} ${-17 - side * 0} Q${at} -22 ${at + 7} -17`)),
    both("brows-sad", (at, side) => path("brow", `M${at - 7} ${side < 0 ? -14 : -19} L${at + 7} ${side < 0 ? -19 : -14}`)),
    ...mouths(),
  );
}

function openEye(x: number): SVGElement {
  return svg(
    "g",
    {},
    svg("ellipse", { class: "eye", cx: x, cy: 0, rx: 8.2, ry: 10.2 }),
    svg("circle", { class: "glint", cx: x + 2.8, cy: -4, r: 3.1 }),
    svg("circle", { class: "glint small", cx: x - 3, cy: 4.4, r: 1.5 }),
  );
}

function wideEye(x: number): SVGElement {
  return svg(
    "g",
    {},
    svg("ellipse", { class: "eye", cx: x, cy: -1, rx: 9.6, ry: 11.8 }),
    path("glint", `M${x + 2.5} -11 l1.6 4.4 l4.4 1.6 l-4.4 1.6 l-1.6 4.4 l-1.6 -4.4 l-4.4 -1.6 l4.4 -1.6 Z`),
    svg("circle", { class: "glint small", cx: x - 3.4, cy: 4.6, r: 2 }),
  );
}

function halfEye(x: number): SVGElement {
  return svg(
    "g",
    {},
    path("eye", `M${x - 8} 0 H${x + 8} C${x + 8} 8 ${x + 4} 9.5 ${x} 9.5 C${x - 4} 9.5 ${x - 8} 8 ${x - 8} 0 Z`),
    path("lid", `M${x - 9.5} 0 H${x + 9.5}`),
    svg("circle", { class: "glint small", cx: x + 2.5, cy: 3.2, r: 1.8 }),
  );
}

function mouths(): SVGElement[] {
  return [
    path("mouth smile", "M-7 13 Q0 20 7 13"),
    svg(
      "g",
      { class: "mouth grin" },
      path("mouth-open", "M-10 11 C-9 25 9 25 10 11 Z"),
      path("tongue", "M-5.5 19.5 C-3 16.5 3 16.5 5.5 19.5 C3 22.400 -3 22.400 -5.5 19.5 Z"),
    ),
    svg("ellipse", { class: "mouth oh mouth-open", cx: 0, cy: 16, rx: 4.2, ry: 5.2 }),
    path("mouth flat", "M-6 15 H6"),
    path("mouth wavy", "M-8 15 q4 -4 8 0 q4 4 8 0"),
    path("mouth low", "M-7 18 Q0 12 7 18"),
    path("mouth cat", "M-9 12 Q-4.5 18 0 13 Q4.5 18 9 12"),
    svg("g", { class: "mouth chew" }, svg("ellipse", { class: "mouth-open", cx: 0, cy: 16, rx: 6, ry: 4.5 })),
  ];
}

/** What it holds or plays with; the room fills it. */
function held(): SVGGElement {
  return svg("g", { class: "held" });
}

function blanket(): SVGGElement {
  const d = "M-112 10 C-122 -28 -96 -62 -54 -66 C-20 -70 20 -70 54 -66 C96 -62 122 -28 112 10 C70 22 -70 22 -112 10 Z";
  return svg(
    "g",
    { class: "blanket" },
    svg("clipPath", { id: "blanket-clip" }, svg("path", { d })),
    path("blanket-1", d),
    svg(
      "g",
      { "clip-path": "url(#blanket-clip)" },
      path(
        "blanket-2",
        "M-124 -30 H-70 V30 H-124 Z M-24 -80 H24 V-26 H-24 Z M70 -30 H124 V30 H70 Z M-70 -80 H-24 V-30 H-70 Z M24 -30 H70 V30 H24 Z",
      ),
      path("stitch", "M-70 -80 V30 M-24 -80 V30 M24 -80 V30 M70 -80 V30 M-124 -28 H124"),
    ),
    path("blanket-hem", "M-104 -38 C-96 -60 -78 -66 -54 -68 C-20 -72 20 -72 54 -68 C78 -66 96 -60 104 -38 C70 -54 -70 -54 -104 -38 Z"),
  );
}
