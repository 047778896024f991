/* The room and who lives in it, drawn once as SVG of our own. Afterwards only attributes change (`data-stage`,
   `data-asleep`, `data-face`, `data-sky`, …) and style.css does the rest: colours, faces, movement, reduced motion. */

import { svg } from "./dom.js";

const WIDTH = 400;
const HEIGHT = 280;
/** Where the pet stands. */
const GROUND = { x: 206, y: 238 };

const STAGES = {
  hatchling: { width: 44, height: 80, eyes: 49, gap: 15, leaf: 0.66 },
  child: { width: 52, height: 94, eyes: 54, gap: 19, leaf: 0.86 },
  adult: { width: 62, height: 116, eyes: 70, gap: 23, leaf: 1.1 },
};
export const STAGE_NAMES = ["egg", ...Object.keys(STAGES)];

const SPARKS = ["heart", "crumb", "bubble", "note", "star", "leaf"];

export function makeScene() {
  const effects = svg("g", { class: "effects" });
  const root = svg(
    "svg",
    { class: "scene", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "xMidYMax slice", role: "img" },
    definitions(),
    indoors(),
    outdoors(),
    petGroup(),
    svg("rect", { class: "dusk-veil", x: -200, y: -100, width: 800, height: 460 }),
    svg("circle", { class: "lamp-glow indoors", cx: 345, cy: 132, r: 150, fill: "url(#glow)" }),
    thought(),
    wish(),
    snore(),
    effects,
  );
  return { root, show: (look) => show(root, look), play: (kind) => play(effects, kind) };
}

/** `look`: `{stage, asleep, face, sky, weather, place, lamp, hue, want, thinking, title}`. Unknown words fall back to
    the plainest look. */
function show(root, look) {
  const data = root.dataset;
  data.stage = STAGE_NAMES.includes(look.stage) ? look.stage : "egg";
  data.asleep = String(look.asleep);
  data.face = look.face;
  data.sky = look.sky;
  data.weather = look.weather ?? "sun";
  data.lamp = String(look.lamp);
  data.thinking = String(look.thinking);
  data.place = look.place ?? "nest";
  data.want = look.want ?? "";
  // a property, not a style attribute: the page's policy forbids those
  root.style.setProperty("--hue", String(look.hue));
  root.setAttribute("aria-label", look.title);
}

/** A few small shapes rise from the pet and fade: an effect shown once. */
function play(layer, kind) {
  const shape = SPARKS.includes(kind) ? kind : "star";
  for (const [index, dx] of [-26, 4, 30].entries()) {
    const spark = svg(
      "g",
      { transform: `translate(${GROUND.x + dx} ${GROUND.y - 92 - index * 7})` },
      sparkShape(shape),
    );
    spark.firstChild.classList.add("spark", `spark-${index}`);
    layer.append(spark);
    setTimeout(() => spark.remove(), 2600);
  }
}

function sparkShape(kind) {
  const shapes = {
    heart: () => svg("path", { class: "heart", d: "M0 8 C-12 -1 -7 -9 0 -4 C7 -9 12 -1 0 8 Z" }),
    crumb: () => svg("circle", { class: "crumb", r: 4.5 }),
    bubble: () => svg("circle", { class: "bubble", r: 7 }),
    note: () => svg("path", { class: "note-spark", d: "M-3 6 V-8 L6 -10 V-6 L0 -5 V6 A4 3 0 1 1 -3 6 Z" }),
    star: () => svg("path", { class: "star-spark", d: "M0 -8 L2 -2 L8 0 L2 2 L0 8 L-2 2 L-8 0 L-2 -2 Z" }),
    leaf: () => svg("path", { class: "leaf", d: "M0 8 C-8 2 -7 -6 0 -9 C7 -6 8 2 0 8 Z" }),
  };
  return svg("g", {}, shapes[kind]());
}

function definitions() {
  const stop = (offset, name) => svg("stop", { offset, class: name });
  return svg(
    "defs",
    {},
    svg("linearGradient", { id: "sky", x1: 0, y1: 0, x2: 0, y2: 1 }, stop("0", "sky-top"), stop("1", "sky-low")),
    svg("linearGradient", { id: "skin", x1: 0, y1: 0, x2: 0, y2: 1 }, stop("0", "skin-top"), stop("1", "skin-low")),
    svg("linearGradient", { id: "shell", x1: 0, y1: 0, x2: 0, y2: 1 }, stop("0", "shell-top"), stop("1", "shell-low")),
    svg("radialGradient", { id: "glow" }, stop("0", "glow-in"), stop("0.45", "glow-mid"), stop("1", "glow-out")),
    svg("clipPath", { id: "pane" }, svg("rect", { x: 44, y: 34, width: 108, height: 112, rx: 12 })),
  );
}

function indoors() {
  return svg(
    "g",
    { class: "indoors" },
    svg("rect", { class: "wall", x: -200, y: -100, width: 800, height: 400 }),
    wallpaper(),
    svg("path", { class: "beams", d: "M-60 96 L176 -40 M460 96 L224 -40 M40 18 H360" }),
    windowFrame(),
    picture(),
    hearth(),
    svg("rect", { class: "floor", x: -200, y: 208, width: 800, height: 120 }),
    svg("rect", { class: "skirting", x: -200, y: 202, width: 800, height: 7 }),
    svg("ellipse", { class: "rug-rim", cx: GROUND.x, cy: 243, rx: 136, ry: 25 }),
    svg("ellipse", { class: "rug", cx: GROUND.x, cy: 242, rx: 126, ry: 21 }),
    svg("ellipse", { class: "rug-ring", cx: GROUND.x, cy: 242, rx: 98, ry: 15 }),
    lamp(),
    plant(),
    cushion(),
  );
}

/** Garden and pond: the same sky as in the window, without the house. */
function outdoors() {
  const tuft = (x, y) =>
    svg("path", { class: "grass", d: `M${x} ${y} q-2 -12 -8 -15 M${x} ${y} q1 -13 0 -18 M${x} ${y} q3 -11 9 -13` });
  const bloom = (x, y, kind) =>
    svg(
      "g",
      { transform: `translate(${x} ${y})`, class: `bloom ${kind}` },
      svg("path", { class: "grass", d: "M0 0 V18" }),
      ...[0, 72, 144, 216, 288].map((turn) =>
        svg("ellipse", { cx: 0, cy: -5, rx: 3.6, ry: 5, transform: `rotate(${turn})` }),
      ),
      svg("circle", { class: "flower-heart", r: 3 }),
    );
  return svg(
    "g",
    { class: "outdoors" },
    svg("rect", { x: -200, y: -100, width: 800, height: 400, fill: "url(#sky)" }),
    svg("g", { class: "wide-sky", transform: "translate(-60 -50) scale(2.3)" }, ...skyBodies()),
    svg("path", { class: "hill far", d: "M-200 190 C-60 120 60 130 150 160 C260 110 420 120 600 180 V320 H-200 Z" }),
    svg("path", { class: "hill near", d: "M-200 208 C-40 176 120 188 220 196 C340 180 460 190 600 204 V320 H-200 Z" }),
    svg("path", { class: "meadow", d: "M-200 222 C0 206 260 206 600 220 V340 H-200 Z" }),
    svg(
      "g",
      { class: "pond" },
      svg("ellipse", { class: "water", cx: 320, cy: 244, rx: 108, ry: 20 }),
      svg("path", { class: "ripple", d: "M262 240 q14 -5 28 0 M330 250 q16 -5 32 0 M352 238 q12 -4 24 0" }),
    ),
    tuft(48, 240),
    tuft(96, 262),
    tuft(352, 222),
    tuft(310, 266),
    tuft(150, 228),
    bloom(70, 224, "pink"),
    bloom(112, 240, "blue"),
    bloom(30, 252, "pink"),
    bloom(286, 222, "blue"),
  );
}

function hearth() {
  return svg(
    "g",
    { class: "hearth" },
    svg("path", { class: "bricks", d: "M196 208 V120 H300 V208 H278 V150 C278 138 218 138 218 150 V208 Z" }),
    svg("rect", { class: "mantel", x: 186, y: 110, width: 124, height: 13, rx: 4 }),
    svg("path", { class: "fireside", d: "M218 208 V150 C218 138 278 138 278 150 V208 Z" }),
    svg("path", {
      class: "flame",
      d: "M248 206 C226 206 230 184 240 176 C240 186 246 184 246 166 C262 178 272 206 248 206 Z",
    }),
    svg("path", { class: "flame inner", d: "M248 206 C238 206 240 194 246 188 C252 194 258 206 248 206 Z" }),
  );
}

function wallpaper() {
  const dots = [];
  for (let row = 0; row < 7; row += 1)
    for (let column = 0; column < 18; column += 1)
      dots.push(svg("circle", { cx: -66 + column * 32 + (row % 2) * 16, cy: -20 + row * 32, r: 2.6 }));
  return svg("g", { class: "wallpaper" }, ...dots);
}

function windowFrame() {
  return svg(
    "g",
    { class: "window" },
    svg("rect", { class: "frame", x: 36, y: 26, width: 124, height: 128, rx: 18 }),
    svg(
      "g",
      { "clip-path": "url(#pane)" },
      svg("rect", { x: 40, y: 30, width: 116, height: 120, fill: "url(#sky)" }),
      ...skyBodies(),
      svg("path", { class: "hill far", d: "M30 128 C60 96 92 112 112 122 C130 108 146 104 170 118 V160 H30 Z" }),
      svg("path", { class: "hill near", d: "M30 140 C64 118 96 128 120 138 C140 128 156 130 170 138 V160 H30 Z" }),
    ),
    svg("path", { class: "bars", d: "M98 34 V146 M44 92 H152" }),
    svg("rect", { class: "sill", x: 28, y: 150, width: 140, height: 10, rx: 5 }),
  );
}

/** Sun, moon, stars and weather, in the window's measure. */
function skyBodies() {
  const stars = [
    [60, 50],
    [84, 66],
    [112, 46],
    [136, 62],
    [70, 88],
    [128, 92],
    [100, 78],
  ];
  const drops = [
    [58, 40],
    [80, 58],
    [102, 44],
    [126, 60],
    [142, 42],
    [68, 80],
    [114, 84],
    [92, 100],
    [136, 96],
  ];
  return [
    svg("g", { class: "stars" }, ...stars.map(([cx, cy], i) => svg("circle", { cx, cy, r: i % 2 ? 1.4 : 2 }))),
    svg("circle", { class: "sun", cx: 122, cy: 62, r: 15 }),
    svg("path", { class: "moon", d: "M128 46 A17 17 0 1 0 138 76 A14 14 0 0 1 128 46 Z" }),
    svg(
      "g",
      { class: "clouds" },
      svg("path", { d: "M50 76 a10 10 0 0 1 14 -10 a14 14 0 0 1 26 2 a9 9 0 0 1 4 17 H56 a9 9 0 0 1 -6 -9 Z" }),
      svg("path", { d: "M98 58 a8 8 0 0 1 11 -8 a11 11 0 0 1 21 2 a7 7 0 0 1 3 13 H104 a7 7 0 0 1 -6 -7 Z" }),
    ),
    svg("g", { class: "rain" }, ...drops.map(([x, y]) => svg("path", { d: `M${x} ${y} l-4 14` }))),
    svg("g", { class: "snow" }, ...drops.map(([cx, cy]) => svg("circle", { cx, cy, r: 2.6 }))),
  ];
}

function picture() {
  return svg(
    "g",
    { class: "picture" },
    svg("rect", { class: "frame", x: 214, y: 44, width: 62, height: 50, rx: 6 }),
    svg("rect", { class: "paper", x: 220, y: 50, width: 50, height: 38, rx: 3 }),
    svg("path", { class: "leaf", d: "M245 82 C232 76 232 62 245 56 C258 62 258 76 245 82 Z" }),
    svg("path", { class: "leaf-vein", d: "M245 82 V64" }),
  );
}

function lamp() {
  return svg(
    "g",
    { class: "lamp" },
    svg("path", { class: "lamp-pole", d: "M345 138 V226" }),
    svg("ellipse", { class: "lamp-foot", cx: 345, cy: 228, rx: 22, ry: 5 }),
    svg("path", { class: "lamp-shade", d: "M328 100 H362 L376 142 H314 Z" }),
  );
}

function plant() {
  const leaf = (turn) =>
    svg("path", {
      class: "leaf",
      transform: `rotate(${turn} 66 206)`,
      d: "M66 206 C52 190 54 168 66 158 C78 168 80 190 66 206 Z",
    });
  return svg(
    "g",
    { class: "plant" },
    leaf(-34),
    leaf(34),
    leaf(0),
    svg("path", { class: "pot", d: "M46 204 H86 L81 236 H51 Z" }),
    svg("rect", { class: "pot-rim", x: 43, y: 200, width: 46, height: 9, rx: 4 }),
  );
}

function cushion() {
  return svg(
    "g",
    { class: "cushion" },
    svg("path", {
      class: "cushion-back",
      d: "M118 240 C112 216 150 212 206 214 C262 212 300 216 294 240 C290 258 122 258 118 240 Z",
    }),
  );
}

function petGroup() {
  return svg(
    "g",
    { transform: `translate(${GROUND.x} ${GROUND.y})` },
    svg("ellipse", { class: "shadow", cx: 0, cy: 2, rx: 52, ry: 8 }),
    svg("g", { class: "pet" }, egg(), ...Object.entries(STAGES).map(([name, size]) => creature(name, size))),
    svg("path", { class: "blanket", d: "M-80 8 C-82 -24 -46 -34 0 -34 C46 -34 82 -24 80 8 C60 18 -60 18 -80 8 Z" }),
  );
}

function egg() {
  const spots = [
    [-20, -62, 7],
    [16, -78, 5],
    [24, -40, 8],
    [-8, -22, 5],
    [-30, -34, 4],
    [2, -50, 4],
  ];
  return svg(
    "g",
    { class: "stage stage-egg" },
    leaves({ height: 92, leaf: 0.5 }),
    svg("path", {
      class: "shell",
      d: "M0 0 C-34 0 -46 -24 -42 -46 C-38 -74 -20 -96 0 -96 C20 -96 38 -74 42 -46 C46 -24 34 0 0 0 Z",
    }),
    svg("g", { class: "spots" }, ...spots.map(([cx, cy, r]) => svg("circle", { cx, cy, r }))),
    face({ eyes: 44, gap: 13, scale: 0.72 }),
  );
}

function creature(name, size) {
  const { width: w, height: h } = size;
  const body =
    `M${-w} ${-h * 0.34} C${-w} ${-h * 0.86} ${-w * 0.56} ${-h} 0 ${-h} S${w} ${-h * 0.86} ${w} ${-h * 0.34} ` +
    `C${w} ${-h * 0.06} ${w * 0.62} 0 0 0 S${-w} ${-h * 0.06} ${-w} ${-h * 0.34} Z`;
  return svg(
    "g",
    { class: `stage stage-${name}` },
    svg("g", { class: "feet" }, foot(-w * 0.42), foot(w * 0.42)),
    leaves(size),
    svg("path", { class: "skin", d: body }),
    svg("ellipse", { class: "belly", cx: 0, cy: -h * 0.22, rx: w * 0.6, ry: h * 0.2 }),
    svg("path", { class: "arm left", d: `M${-w * 0.94} ${-h * 0.4} q-13 8 -8 18` }),
    svg("path", { class: "arm right", d: `M${w * 0.94} ${-h * 0.4} q13 8 8 18` }),
    face({ eyes: size.eyes, gap: size.gap, scale: w / 58 }),
    name === "hatchling" ? halfShell(w) : null,
  );
}

function foot(x) {
  return svg("ellipse", { class: "foot", cx: x, cy: -1, rx: 13, ry: 7 });
}

function halfShell(w) {
  const edge = `M${-w - 3} -24 L${-w * 0.62} -33 L${-w * 0.3} -23 L0 -33 L${w * 0.3} -23 L${w * 0.62} -33 L${w + 3} -24`;
  return svg(
    "g",
    {},
    svg("path", {
      class: "shell",
      d: `${edge} C${w + 2} -4 ${w * 0.6} 3 0 3 C${-w * 0.6} 3 ${-w - 2} -4 ${-w - 3} -24 Z`,
    }),
    svg("g", { class: "spots" }, svg("circle", { cx: -18, cy: -12, r: 5 }), svg("circle", { cx: 20, cy: -9, r: 4 })),
  );
}

/** The sprout on the head: two leaves, and on an adult a flower. */
function leaves({ height, leaf }) {
  const blade = "M0 0 C-5 -16 -26 -22 -36 -14 C-32 -2 -14 4 0 0 Z";
  return svg(
    "g",
    { class: "sprout", transform: `translate(0 ${-height + 3}) scale(${leaf})` },
    svg(
      "g",
      { class: "sway" },
      svg("path", { class: "stem", d: "M0 4 C1 -4 0 -10 0 -14" }),
      svg(
        "g",
        { transform: "translate(0 -12)" },
        svg("path", { class: "leaf", d: blade }),
        svg("path", { class: "leaf light", d: blade, transform: "scale(-1 1)" }),
        flower(),
      ),
    ),
  );
}

function flower() {
  const petals = [0, 72, 144, 216, 288].map((turn) =>
    svg("ellipse", { class: "petal", cx: 0, cy: -7, rx: 5, ry: 7, transform: `rotate(${turn})` }),
  );
  return svg(
    "g",
    { class: "flower", transform: "translate(0 -10)" },
    ...petals,
    svg("circle", { class: "flower-heart", r: 4.5 }),
  );
}

/** Every expression at once; style.css shows the one that fits. */
function face({ eyes, gap, scale }) {
  const pair = (name, make) => svg("g", { class: `eyes ${name}` }, make(-gap / scale), make(gap / scale));
  return svg(
    "g",
    { class: "face", transform: `translate(0 ${-eyes}) scale(${scale})` },
    svg("ellipse", { class: "cheek", cx: -gap / scale - 11, cy: 11, rx: 7, ry: 4.5 }),
    svg("ellipse", { class: "cheek", cx: gap / scale + 11, cy: 11, rx: 7, ry: 4.5 }),
    pair("open", (x) =>
      svg(
        "g",
        { class: "eye" },
        svg("ellipse", { cx: x, cy: 0, rx: 6, ry: 7.5 }),
        svg("circle", { class: "glint", cx: x + 2, cy: -3, r: 2.2 }),
      ),
    ),
    pair("glad", (x) => svg("path", { d: `M${x - 7} 2 Q${x} -8 ${x + 7} 2` })),
    pair("shut", (x) => svg("path", { d: `M${x - 7} 0 Q${x} 6 ${x + 7} 0` })),
    pair("tired", (x) =>
      svg(
        "g",
        {},
        svg("ellipse", { cx: x, cy: 3, rx: 5, ry: 3.6 }),
        svg("path", { d: `M${x - 7} 1 Q${x} -4 ${x + 7} 1` }),
      ),
    ),
    svg("path", { class: "mouth smile", d: "M-9 12 Q0 21 9 12" }),
    svg("path", { class: "mouth grin", d: "M-10 11 Q0 27 10 11 Z" }),
    svg("path", { class: "mouth calm", d: "M-6 14 Q0 18 6 14" }),
    svg("path", { class: "mouth flat", d: "M-6 16 H6" }),
    svg("path", { class: "mouth low", d: "M-7 17 Q0 13 7 17" }),
    svg("ellipse", { class: "mouth oh", cx: 0, cy: 16, rx: 4, ry: 5 }),
  );
}

function thought() {
  return svg(
    "g",
    { class: "thought", transform: `translate(${GROUND.x + 58} 96)` },
    svg("circle", { class: "cloud", cx: -20, cy: 40, r: 4 }),
    svg("circle", { class: "cloud", cx: -10, cy: 27, r: 6 }),
    svg("rect", { class: "cloud", x: -16, y: -18, width: 62, height: 36, rx: 18 }),
    ...[0, 1, 2].map((index) => svg("circle", { class: `dot dot-${index}`, cx: 2 + index * 14, cy: 0, r: 4 })),
  );
}

/** What it asks for, as a small picture in a bubble; low beside the pet, clear of the words above its head. */
function wish() {
  return svg(
    "g",
    { class: "wish", transform: `translate(${GROUND.x - 98} 160)` },
    svg("circle", { class: "cloud", cx: 26, cy: 28, r: 5 }),
    svg("circle", { class: "cloud", cx: 0, cy: 0, r: 23 }),
    svg("path", { class: "wish-food", d: "M-12 -1 H12 A12 12 0 0 1 -12 -1 Z M-5 -7 q4 -3 2 -7 M4 -7 q4 -3 2 -7" }),
    svg("path", { class: "wish-wash", d: "M0 -13 C8 -4 11 1 9 6 A10 10 0 0 1 -9 6 C-11 1 -8 -4 0 -13 Z" }),
    svg("path", { class: "wish-warmth", d: "M0 13 C-13 12 -11 -1 -4 -6 C-4 0 -1 -1 -1 -13 C9 -5 13 12 0 13 Z" }),
    svg("path", { class: "wish-company", d: "M0 12 C-18 -1 -10 -13 0 -5 C10 -13 18 -1 0 12 Z" }),
  );
}

function snore() {
  const place = `translate(${GROUND.x + 62} 132)`;
  return svg(
    "g",
    { class: "zzz", transform: place },
    svg("path", { d: "M0 10 h12 l-12 14 h12" }),
    svg("path", { d: "M20 -12 h9 l-9 11 h9" }),
  );
}
