/* Outside: sky, sun and moon, clouds, hills of the season, rain and snow. One drawing for all places: rooms lie over it
   and have holes where their windows are. Only transforms and opacities move. */

import { svg } from "../dom.ts";

/** The measure of every layer of the scene: 640 by 640, shown from its foot, sides cut or bled. */
export const VIEW = { viewBox: "0 0 640 640", preserveAspectRatio: "xMidYMax slice", "aria-hidden": "true" } as const;
const BLEED = { x: -480, y: -480, width: 1600, height: 1140 };

export function makeSky(): SVGSVGElement {
  return svg(
    "svg",
    { class: "layer sky", ...VIEW },
    svg(
      "defs",
      {},
      svg("linearGradient", { id: "sky-fill", x1: 0, y1: 0, x2: 0, y2: 1 }, stop(0, "sky-top"), stop(1, "sky-low")),
      svg("radialGradient", { id: "sun-halo" }, stop(0, "halo-in"), stop(1, "halo-out")),
    ),
    svg("rect", { ...BLEED, fill: "url(#sky-fill)" }),
    svg("g", { class: "vista" }, stars(), sun(), moon(), clouds("far"), hills(), clouds("near"), rain(), snow(), mist()),
    svg("rect", { class: "lightning", ...BLEED }),
  );
}

function stop(offset: number, name: string): SVGStopElement {
  return svg("stop", { offset, class: name });
}

const STARS: readonly [number, number, number][] = [
  [60, 40, 2.4], [130, 92, 1.6], [190, 30, 1.8], [236, 118, 2.2], [300, 54, 1.5], [352, 20, 2.4], [402, 96, 1.8],
  [470, 44, 2.1], [520, 120, 1.5], [588, 66, 2.3], [96, 160, 1.4], [452, 168, 1.6], [24, 110, 1.7], [616, 168, 1.6],
  [-60, 60, 2], [-120, 130, 1.6], [700, 40, 2], [760, 120, 1.7], [270, 190, 1.3], [160, 210, 1.5],
]; // prettier-ignore

function stars(): SVGGElement {
  const star = ([cx, cy, r]: readonly [number, number, number]) => svg("circle", { cx, cy, r });
  const third = (which: number) => STARS.filter((_, index) => index % 3 === which).map(star);
  // those that twinkle are one layer, not one each
  return svg("g", { class: "stars" }, ...third(1), ...third(2), svg("g", { class: "twinkle" }, ...third(0)));
}

function sun(): SVGGElement {
  return svg(
    "g",
    { class: "sun" },
    svg("circle", { cx: 430, cy: 130, r: 120, fill: "url(#sun-halo)" }),
    svg("circle", { class: "sun-disc", cx: 430, cy: 130, r: 44 }),
  );
}

function moon(): SVGGElement {
  return svg(
    "g",
    { class: "moon" },
    svg("circle", { cx: 420, cy: 120, r: 96, fill: "url(#sun-halo)", opacity: 0.35 }),
    svg("path", { class: "moon-disc", d: "M436 78 A46 46 0 1 0 464 150 A38 38 0 0 1 436 78 Z" }),
  );
}

const CLOUD = "M0 40 a26 26 0 0 1 30 -32 a42 42 0 0 1 78 -6 a30 30 0 0 1 46 18 a20 20 0 0 1 4 40 H16 a20 20 0 0 1 -16 -20 Z";

function clouds(depth: "far" | "near"): SVGGElement {
  const places: [number, number, number][] =
    depth === "far"
      ? [[40, 90, 0.8], [330, 52, 0.62], [560, 140, 0.9], [-200, 110, 0.9], [760, 70, 0.7]]
      : [[150, 150, 1.15], [470, 190, 0.95], [-120, 200, 1.2], [700, 210, 1.1]]; // prettier-ignore
  const cloud = ([x, y, size]: [number, number, number]) => svg("path", { d: CLOUD, transform: `translate(${x} ${y}) scale(${size})` });
  return svg("g", { class: `clouds ${depth}` }, ...places.map(cloud));
}

function hills(): SVGGElement {
  return svg(
    "g",
    { class: "hills" },
    svg("path", {
      class: "hill-3",
      d: "M-480 352 C-320 262 -200 300 -70 322 C40 244 190 240 300 318 C410 262 540 258 660 322 C800 270 960 280 1120 340 V700 H-480 Z",
    }),
    svg("path", {
      class: "hill-2",
      d: "M-480 392 C-330 330 -180 346 -20 378 C90 322 240 330 360 376 C480 336 620 338 720 372 C860 340 1000 350 1120 384 V700 H-480 Z",
    }),
    tree(96, 372, 0.8),
    tree(140, 384, 0.56),
    tree(506, 364, 0.7),
    tree(566, 380, 0.9),
    svg("path", {
      class: "hill-1",
      d: "M-480 440 C-260 384 -60 408 120 422 C300 396 470 398 640 418 C820 396 980 404 1120 430 V700 H-480 Z",
    }),
  );
}

function tree(x: number, y: number, size: number): SVGGElement {
  return svg(
    "g",
    { class: "tree", transform: `translate(${x} ${y}) scale(${size})` },
    svg("path", { class: "trunk", d: "M-5 20 L-3 -34 H4 L6 20 Z" }),
    svg("path", {
      class: "crown",
      d: "M0 -92 C28 -92 40 -66 34 -46 C28 -26 14 -22 0 -22 C-14 -22 -28 -26 -34 -46 C-40 -66 -28 -92 0 -92 Z",
    }),
    svg("path", { class: "twigs", d: "M0 -30 V-74 M0 -52 L-16 -70 M0 -46 L17 -66 M0 -62 L-8 -80 M0 -58 L9 -82" }),
  );
}

/** Two sheets of drops, each falling by one tile: the seam is never seen. */
function rain(): SVGGElement {
  return svg("g", { class: "rain" }, ...["slow", "fast"].map((pace) => sheet(pace, drop)));
}

function snow(): SVGGElement {
  return svg("g", { class: "snow" }, ...["slow", "fast"].map((pace) => sheet(pace, flake)));
}

const TILE = 320;

function sheet(pace: string, make: (x: number, y: number, index: number) => SVGElement): SVGGElement {
  const shapes: SVGElement[] = [];
  let seed = pace === "slow" ? 7 : 3;
  for (let row = -2; row < 3; row += 1) {
    let local = seed;
    for (let index = 0; index < 34; index += 1) {
      local = (local * 1103515245 + 12345) % 2147483648;
      const x = -440 + (index / 34) * 1520 + (local % 37);
      const y = row * TILE + ((local >> 8) % TILE);
      shapes.push(make(x, y, index));
    }
  }
  seed += 1;
  return svg("g", { class: `sheet ${pace}` }, ...shapes);
}

function drop(x: number, y: number): SVGElement {
  return svg("path", { d: `M${x} ${y} l-5 26` });
}

function flake(cx: number, cy: number, index: number): SVGElement {
  return svg("circle", { cx, cy, r: 2.4 + (index % 3) });
}

function mist(): SVGGElement {
  const band = (y: number, name: string) =>
    svg("path", {
      class: name,
      d: `M-480 ${y} C-300 ${y - 40} -100 ${y + 20} 80 ${y - 16} S460 ${y + 24} 640 ${y - 14} S980 ${y + 20} 1120 ${y - 10} V${y + 90} H-480 Z`,
    });
  return svg("g", { class: "mist" }, band(250, "mist-a"), band(330, "mist-b"), band(400, "mist-a"));
}
