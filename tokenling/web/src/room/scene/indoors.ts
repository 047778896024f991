/* The rooms of the house: nest, window seat, hearth, attic. Still drawings with holes where their windows are. */

import { svg } from "../dom.ts";
import { block, layer, oval, path } from "./shapes.ts";
import { thing } from "./things.ts";

const FLOOR_Y = 462;

/** A wall with a hole, its pattern, and the floor. */
function shell(name: string, hole: string, wall = "wall"): SVGElement[] {
  const around = `M-480 -480 H1120 V480 H-480 Z ${hole}`;
  return [
    svg("path", { class: wall, "fill-rule": "evenodd", d: around }),
    svg("clipPath", { id: `paper-${name}` }, svg("path", { "clip-rule": "evenodd", d: around })),
    paper(name),
    block("floor", -480, FLOOR_Y, 1600, 260),
    path(
      "planks",
      "M-480 498 H1120 M-480 546 H1120 M-480 604 H1120 M-330 462 V498 M-60 462 V498 M210 462 V498 M470 462 V498 M760 462 V498 M-200 498 V546 M90 498 V546 M390 498 V546 M650 498 V546 M-20 546 V604 M270 546 V604 M560 546 V604 M120 604 V660 M430 604 V660",
    ),
    block("skirting", -480, FLOOR_Y - 20, 1600, 22),
    block("skirting-shade", -480, FLOOR_Y - 1, 1600, 5),
  ];
}

/** Sprigs in a half-drop repeat. */
function paper(name: string): SVGElement {
  const sprigs: SVGElement[] = [];
  for (let column = -7; column < 19; column += 1)
    for (let row = -6; row < 6; row += 1) sprigs.push(sprig(column * 62 + 20, row * 74 + (column % 2 === 0 ? 0 : 37) - 6));
  return svg("g", { class: "paper", "clip-path": `url(#paper-${name})` }, ...sprigs);
}

function sprig(x: number, y: number): SVGElement {
  return path(
    "sprig",
    `M${x} ${y + 9} V${y - 3} M${x} ${y + 3} c-6 0 -8 -4 -8 -8 c5 0 8 3 8 8 Z M${x} ${y + 1} c6 0 8 -4 8 -8 c-5 0 -8 3 -8 8 Z`,
  );
}

/** A paper lantern on its cord: the lamp that the owner switches. */
function lantern(x: number, y: number): SVGElement {
  return svg(
    "g",
    { class: "lantern", transform: `translate(${x} ${y})` },
    path("cord", "M0 -560 V-44"),
    oval("lantern-body", 0, 0, 40, 44),
    path(
      "lantern-ribs",
      "M-38 -14 C-20 -8 20 -8 38 -14 M-40 2 C-20 9 20 9 40 2 M-36 20 C-18 26 18 26 36 20 M-26 -33 C-12 -28 12 -28 26 -33",
    ),
    path("lantern-shade", "M0 -44 C28 -44 40 -22 40 0 C40 26 24 44 0 44 C18 34 24 18 24 -2 C24 -22 14 -38 0 -44 Z"),
    block("lantern-cap", -14, -49, 28, 8, 3),
    block("lantern-cap", -11, 41, 22, 7, 3),
  );
}

function rug(cx: number, cy: number, rx: number): SVGElement {
  const ry = rx * 0.24;
  return svg(
    "g",
    { class: "rug" },
    oval("rug-shade", cx, cy + 7, rx + 3, ry),
    oval("rug-1", cx, cy, rx, ry),
    oval("rug-2", cx, cy, rx * 0.86, ry * 0.84),
    oval("rug-3", cx, cy, rx * 0.78, ry * 0.74),
    svg("ellipse", { class: "rug-stitch", cx, cy, rx: rx * 0.6, ry: ry * 0.56 }),
  );
}

function curtain(x: number, y: number, height: number, side: 1 | -1): SVGElement {
  return svg(
    "g",
    { class: "curtain", transform: `translate(${x} ${y}) scale(${side} 1)` },
    path(
      "curtain-1",
      `M0 0 H58 C54 ${height * 0.4} 60 ${height * 0.6} 30 ${height * 0.74} C34 ${height * 0.84} 44 ${height * 0.92} 46 ${height} H-6 C0 ${height * 0.7} 2 ${height * 0.4} 0 0 Z`,
    ),
    path(
      "curtain-2",
      `M16 0 H28 C26 ${height * 0.4} 26 ${height * 0.6} 16 ${height * 0.74} C20 ${height * 0.86} 18 ${height * 0.94} 16 ${height} H4 C10 ${height * 0.7} 14 ${height * 0.4} 16 0 Z`,
    ),
    path(
      "curtain-tie",
      `M-2 ${height * 0.7} C12 ${height * 0.76} 26 ${height * 0.76} 40 ${height * 0.7} L39 ${height * 0.76} C26 ${height * 0.82} 12 ${height * 0.82} -1 ${height * 0.76} Z`,
    ),
  );
}

/** The shelf on which the pet keeps what it was given; the room fills `.kept` slots. */
export const SHELF_SLOTS: readonly (readonly [number, number])[] = [
  [424, 224], [458, 224], [492, 224], [526, 224], [560, 224], [594, 224],
  [424, 318], [458, 318], [492, 318], [526, 318], [560, 318], [594, 318],
]; // prettier-ignore

function shelf(y: number): SVGElement {
  return svg(
    "g",
    { class: "shelf-board" },
    path("wood-dark", `M424 ${y + 10} L432 ${y + 38} H438 V${y + 10} Z M582 ${y + 10} L590 ${y + 38} H596 V${y + 10} Z`),
    block("wood", 402, y, 214, 11, 4),
    block("wood-dark", 402, y + 8, 214, 4, 2),
  );
}

export function nest(): SVGSVGElement {
  const hole = "M78 366 V220 C78 112 238 112 238 220 V366 Z";
  return layer(
    "nest",
    "back",
    ...shell("nest", hole),
    svg("path", {
      class: "frame",
      "fill-rule": "evenodd",
      d: "M62 382 V218 C62 90 254 90 254 218 V382 Z M80 366 V220 C80 114 236 114 236 220 V366 Z",
    }),
    path("frame-bar", "M158 136 V368 M78 256 H238"),
    path("frame-shade", "M236 220 V366 H80 V360 H229 V220 C229 174 214 152 190 142 C220 150 236 176 236 220 Z"),
    block("sill", 46, 376, 224, 16, 6),
    block("sill-shade", 52, 390, 212, 6, 3),
    pottedSprout(98, 376),
    jar(218, 376),
    shelf(258),
    shelf(352),
    svg("g", { class: "kept", transform: "translate(0 0)" }),
    lantern(352, 92),
    bunting(),
    path("basket-shade", "M130 566 C180 596 456 596 508 566 C520 590 420 604 318 604 C216 604 118 590 130 566 Z"),
    oval("basket-in", 318, 512, 172, 40),
    oval("cushion", 318, 512, 150, 34),
    oval("cushion-light", 306, 506, 110, 20),
    tallPlant(590, 470),
  );
}

/** Slots are drawn at half height: things stand on the boards. */
export function keptThings(names: readonly string[]): SVGElement[] {
  return names.slice(0, SHELF_SLOTS.length).map((name, index) => {
    const [x, y] = SHELF_SLOTS[index] ?? [0, 0];
    return svg("g", { transform: `translate(${x - 16} ${y + 3})` }, thing(name));
  });
}

export function nestFront(): SVGSVGElement {
  const weave: SVGElement[] = [];
  for (let row = 0; row < 4; row += 1)
    for (let column = 0; column < 15; column += 1) {
      const x = 158 + column * 23 + (row % 2) * 11;
      const y = 532 + row * 15;
      const bulge = ((x - 318) / 172) ** 2;
      if (bulge < 0.96 - row * 0.09) weave.push(path("weave", `M${x - 10} ${y - bulge * 16} q10 9 21 0`));
    }
  return layer(
    "nest",
    "front",
    path("basket", "M146 512 C150 566 190 596 318 596 C446 596 486 566 490 512 C470 544 400 556 318 556 C236 556 166 544 146 512 Z"),
    svg("g", { class: "weaves" }, ...weave),
    path("basket-dark", "M490 512 C486 566 446 596 318 596 C420 588 452 560 462 536 C474 530 484 522 490 512 Z"),
    path(
      "basket-rim",
      "M142 506 C150 546 236 560 318 560 C400 560 486 546 494 506 C500 512 500 520 496 526 C474 562 396 574 318 574 C240 574 162 562 140 526 C136 520 136 512 142 506 Z",
    ),
    path(
      "rim-twist",
      "M152 530 l14 10 M182 546 l14 8 M216 556 l14 7 M252 562 l13 6 M290 565 l12 6 M330 566 l12 5 M368 564 l13 3 M404 558 l13 1 M438 549 l13 -2 M466 536 l11 -5",
    ),
  );
}

function bunting(): SVGElement {
  const flags = [
    [-150, 8],
    [-88, 24],
    [-26, 34],
    [36, 38],
    [98, 38],
    [160, 32],
    [222, 22],
    [284, 8],
  ] as const;
  const flag = ([x, y]: readonly [number, number], index: number) =>
    path(`flag flag-${index % 3}`, `M${x} ${y} l40 ${index < 3 ? 8 : index < 5 ? 1 : -6} l-18 38 Z`);
  return svg(
    "g",
    { class: "bunting", transform: "translate(260 -4)" },
    path("cord", "M-400 -60 C-240 0 -120 36 60 40 C240 36 380 0 520 -60"),
    ...flags.map(flag),
  );
}

function pottedSprout(x: number, y: number): SVGElement {
  return svg(
    "g",
    { transform: `translate(${x} ${y})` },
    path("leaf-dark", "M0 -26 C-22 -34 -28 -54 -20 -66 C-6 -58 0 -42 0 -26 Z"),
    path("leaf-mid", "M0 -26 C20 -36 26 -50 22 -62 C8 -56 0 -42 0 -26 Z"),
    path("leaf-light", "M0 -24 C-8 -44 -4 -64 4 -74 C12 -60 10 -40 0 -24 Z"),
    path("clay", "M-17 -26 H17 L13 0 H-13 Z"),
    path("clay-dark", "M6 -26 H17 L13 0 H4 Z M-19 -30 H19 V-23 H-19 Z"),
  );
}

function jar(x: number, y: number): SVGElement {
  return svg(
    "g",
    { transform: `translate(${x} ${y})` },
    path("glass", "M-13 -34 H13 V-6 C13 -2 10 0 6 0 H-6 C-10 0 -13 -2 -13 -6 Z"),
    path("t-honey", "M-13 -22 H13 V-6 C13 -2 10 0 6 0 H-6 C-10 0 -13 -2 -13 -6 Z"),
    block("wood", -15, -40, 30, 8, 3),
  );
}

function tallPlant(x: number, y: number): SVGElement {
  const blade = (turn: number, name: string, long: number) =>
    svg("path", {
      class: name,
      transform: `rotate(${turn})`,
      d: `M0 0 C-24 -${long * 0.4} -22 -${long * 0.8} 0 -${long} C22 -${long * 0.8} 24 -${long * 0.4} 0 0 Z`,
    });
  return svg(
    "g",
    { class: "tall-plant", transform: `translate(${x} ${y + 30})` },
    svg(
      "g",
      { transform: "translate(0 -52)" },
      blade(-46, "leaf-dark", 92),
      blade(44, "leaf-dark", 88),
      blade(-20, "leaf-mid", 112),
      blade(22, "leaf-light", 104),
      blade(0, "leaf-mid", 86),
    ),
    path("clay", "M-34 -56 H34 L26 6 H-26 Z"),
    path("clay-dark", "M10 -56 H34 L26 6 H6 Z"),
    block("clay-rim", -38, -64, 76, 14, 5),
  );
}

export function windowSeat(): SVGSVGElement {
  const hole = "M96 404 V84 H544 V404 Z";
  return layer(
    "window",
    "back",
    ...shell("window", hole),
    svg("path", { class: "frame", "fill-rule": "evenodd", d: "M78 420 V66 H562 V420 Z M98 404 V86 H542 V404 Z" }),
    path("frame-bar", "M246 84 V404 M394 84 V404 M96 196 H544"),
    path("frame-shade", "M542 86 V404 H98 V398 H535 V86 Z"),
    block("rod", 40, 48, 560, 9, 4),
    oval("rod-end", 40, 52, 9, 9),
    oval("rod-end", 600, 52, 9, 9),
    curtain(52, 56, 360, 1),
    curtain(588, 56, 360, -1),
    block("bench-top", 20, 404, 600, 20, 8),
    block("bench", 32, 422, 576, 92),
    path("bench-panel", "M52 438 H222 V498 H52 Z M242 438 H398 V498 H242 Z M418 438 H588 V498 H418 Z"),
    path("bench-shade", "M32 422 H608 V432 H32 Z"),
    path("seat", "M60 404 C60 386 74 384 96 384 H544 C566 384 580 386 580 404 C580 414 574 416 560 416 H80 C66 416 60 414 60 404 Z"),
    path(
      "seat-shade",
      "M60 404 C60 414 66 416 80 416 H560 C574 416 580 414 580 404 C580 402 580 400 579 398 C576 408 566 408 552 408 H88 C74 408 64 408 61 398 Z",
    ),
    pillow(132, 384, "a"),
    pillow(504, 384, "b"),
    pottedSprout(186, 385),
    books(448, 385),
    rug(320, 586, 230),
    lantern(320, -10),
  );
}

function pillow(x: number, y: number, kind: string): SVGElement {
  return svg(
    "g",
    { class: `pillow pillow-${kind}`, transform: `translate(${x} ${y})` },
    path("pillow-1", "M-40 0 C-50 -22 -46 -52 -40 -66 C-18 -60 18 -60 40 -66 C46 -52 50 -22 40 0 C18 4 -18 4 -40 0 Z"),
    path("pillow-2", "M40 0 C50 -22 46 -52 40 -66 C34 -64 28 -63 22 -62 C34 -40 30 -14 10 2 C22 2 32 1 40 0 Z"),
    path("pillow-3", "M-22 -40 h10 v10 h-10 Z M4 -44 h10 v10 h-10 Z M-8 -22 h10 v10 h-10 Z"),
  );
}

function books(x: number, y: number): SVGElement {
  return svg(
    "g",
    { class: "books", transform: `translate(${x} ${y})` },
    block("t-blue", -30, -12, 60, 12, 2),
    block("t-red", -26, -23, 54, 11, 2),
    block("t-honey", -22, -33, 46, 10, 2),
    block("t-cream", 18, -9, 10, 6),
    block("t-cream", 16, -20, 10, 5),
  );
}

export function hearth(): SVGSVGElement {
  const hole = "M150 128 A80 80 0 1 0 150.5 128 Z";
  return layer(
    "hearth",
    "back",
    ...shell("hearth", hole),
    svg("path", { class: "frame", "fill-rule": "evenodd", d: "M150 110 A98 98 0 1 0 150.5 110 Z M150 130 A78 78 0 1 0 150.5 130 Z" }),
    path("frame-bar", "M150 128 V288 M70 208 H230"),
    bunchOfHerbs(258, 120),
    path("bricks", "M360 484 V210 H616 V484 H564 V330 C564 262 412 262 412 330 V484 Z"),
    path(
      "brick-lines",
      "M360 246 H616 M360 284 H428 M548 284 H616 M360 322 H410 M566 322 H616 M360 362 H412 M564 362 H616 M360 402 H412 M564 402 H616 M360 442 H412 M564 442 H616 M408 210 V246 M470 210 V246 M532 210 V246 M580 210 V246 M384 246 V284 M446 246 V270 M510 246 V268 M590 246 V284 M388 322 V362 M590 322 V362 M384 402 V442 M588 402 V442",
    ),
    path("fire-dark", "M412 484 V330 C412 262 564 262 564 330 V484 Z"),
    path("fire-glow", "M430 484 C430 410 546 410 546 484 Z"),
    path("chimney", "M388 196 V-480 H588 V196 Z"),
    path("chimney-shade", "M560 196 V-480 H588 V196 Z"),
    block("mantel", 338, 192, 300, 24, 6),
    block("mantel-shade", 338, 210, 300, 6, 3),
    clock(488, 192),
    candle(384, 192),
    candle(410, 192),
    pottedSprout(594, 192),
    picture(488, 60),
    path("wood-dark", "M436 486 C430 470 446 462 456 470 L540 470 C552 462 562 474 552 486 Z"),
    path("wood", "M446 478 C442 462 456 456 464 464 L530 456 C542 452 548 466 540 474 Z"),
    block("hearth-stone", 392, 480, 200, 18, 6),
    logs(612, 500),
    rug(250, 560, 206),
    armchair(50, 470),
    lantern(290, -26),
  );
}

/** The fire is a layer of its own: it flickers. */
export function makeFire(): SVGGElement {
  return svg(
    "g",
    { class: "fire", transform: "translate(490 470)" },
    svg("path", { class: "flame f1", d: "M0 0 C-46 0 -42 -48 -20 -66 C-20 -46 -8 -48 -8 -88 C26 -66 46 0 0 0 Z" }),
    svg("path", { class: "flame f2", d: "M2 0 C-26 0 -24 -28 -10 -40 C-8 -28 0 -30 2 -54 C20 -38 28 0 2 0 Z" }),
    svg("path", { class: "flame f3", d: "M2 0 C-12 0 -12 -14 -4 -20 C-2 -14 2 -16 4 -28 C12 -18 14 0 2 0 Z" }),
  );
}

function clock(x: number, y: number): SVGElement {
  return svg(
    "g",
    { class: "clock", transform: `translate(${x} ${y})` },
    path("wood", "M-28 0 V-32 C-28 -62 28 -62 28 -32 V0 Z"),
    svg("circle", { class: "t-cream", cx: 0, cy: -30, r: 19 }),
    svg("path", { class: "hand hour", d: "M0 -30 V-40" }),
    svg("path", { class: "hand minute", d: "M0 -30 V-45" }),
  );
}

function candle(x: number, y: number): SVGElement {
  return svg(
    "g",
    { transform: `translate(${x} ${y})` },
    block("t-cream", -5, -30, 10, 30, 2),
    path("candle-flame", "M0 -31 C-6 -36 -3 -42 0 -48 C3 -42 6 -36 0 -31 Z"),
  );
}

function picture(x: number, y: number): SVGElement {
  return svg(
    "g",
    { transform: `translate(${x} ${y})` },
    block("wood", -48, -10, 96, 88, 6),
    block("t-cream", -40, -2, 80, 72, 3),
    path("leaf-mid", "M-2 62 C-34 46 -32 16 0 4 C30 18 30 46 -2 62 Z"),
    path("leaf-light", "M-2 62 C-22 46 -20 22 0 4 C-2 22 0 44 -2 62 Z"),
  );
}

function bunchOfHerbs(x: number, y: number): SVGElement {
  return svg(
    "g",
    { transform: `translate(${x} ${y})` },
    path("cord", "M0 -700 V0"),
    path("leaf-dark", "M0 0 C-14 14 -20 38 -14 62 C-4 50 0 24 0 0 Z"),
    path("leaf-mid", "M0 0 C14 14 20 38 16 58 C4 48 0 24 0 0 Z"),
    path("leaf-light", "M0 0 C-6 22 -4 50 2 70 C8 48 6 22 0 0 Z"),
    block("t-red", -7, -4, 14, 8, 2),
  );
}

function logs(x: number, y: number): SVGElement {
  const log = (dx: number, dy: number) =>
    svg(
      "g",
      { transform: `translate(${dx} ${dy})` },
      block("wood-dark", 0, -22, 120, 24, 12),
      oval("log-end", 12, -10, 12, 12),
      oval("log-ring", 12, -10, 6, 6),
    );
  return svg("g", { transform: `translate(${x} ${y})` }, log(0, 0), log(6, -22), log(-14, -2));
}

function armchair(x: number, y: number): SVGElement {
  return svg(
    "g",
    { class: "armchair", transform: `translate(${x} ${y})` },
    path("chair-dark", "M-150 40 V-96 C-150 -150 44 -150 44 -96 V40 Z"),
    path("chair", "M-150 40 V-90 C-150 -140 30 -140 30 -90 V40 Z"),
    path("chair-light", "M-150 0 H58 C76 0 80 14 80 26 V54 H-150 Z"),
    path("chair-dark", "M20 54 V-10 C20 -34 84 -34 84 -10 V54 Z"),
    path("chair", "M28 54 V-8 C28 -26 76 -26 76 -8 V54 Z"),
    block("wood-dark", 30, 54, 12, 22, 3),
    block("wood-dark", 64, 54, 12, 22, 3),
  );
}

export function attic(): SVGSVGElement {
  const hole = "M146 268 L128 112 L312 92 L338 250 Z";
  return layer(
    "attic",
    "back",
    ...shell("attic", hole, "wall attic-wall"),
    path("slope", "M-480 -480 H60 L-140 480 H-480 Z"),
    path("slope", "M1120 -480 H580 L780 480 H1120 Z"),
    path("boards", "M-480 40 H1120 M-480 176 H132 M332 176 H1120 M-480 312 H1120 M-480 430 H1120"),
    path("beam", "M-60 462 L150 -480 H196 L-10 462 Z M690 462 L480 -480 H434 L640 462 Z"),
    path("beam-shade", "M-24 462 L184 -480 H196 L-10 462 Z M654 462 L446 -480 H434 L640 462 Z"),
    block("beam", -480, -12, 1600, 34),
    block("beam-shade", -480, 16, 1600, 7),
    svg("path", { class: "frame", "fill-rule": "evenodd", d: "M130 284 L110 98 L326 74 L356 264 Z M147 267 L129 113 L311 93 L337 249 Z" }),
    path("frame-bar", "M220 102 L242 258 M138 190 L324 170"),
    fairyLights(),
    chest(520, 482),
    boxes(84, 494),
    globe(470, 366),
    stackOfBooks(160, 500),
    rug(330, 566, 210),
    oval("cushion", 330, 560, 128, 26),
    oval("cushion-light", 320, 555, 92, 15),
    lantern(414, 82),
  );
}

function fairyLights(): SVGElement {
  const bulbs = [
    [50, 62],
    [120, 78],
    [190, 56],
    [262, 46],
    [334, 58],
    [404, 50],
    [474, 66],
    [548, 78],
    [604, 60],
  ] as const;
  return svg(
    "g",
    { class: "fairy" },
    path("cord", "M-20 40 C60 84 100 90 150 66 C210 34 270 40 330 58 C390 74 420 34 480 64 C540 96 590 80 660 40"),
    ...bulbs.map(([cx, cy], index) => svg("circle", { class: `bulb bulb-${index % 3}`, cx, cy: cy + 8, r: 7 })),
  );
}

function chest(x: number, y: number): SVGElement {
  return svg(
    "g",
    { transform: `translate(${x} ${y})` },
    path("wood-dark", "M-86 20 V-56 H90 V20 Z"),
    path("wood", "M-86 -44 C-86 -98 90 -98 90 -44 Z"),
    path("wood", "M-80 16 V-40 H84 V16 Z"),
    path("brass", "M-10 -50 H12 V-24 H-10 Z M-86 -48 H90 V-40 H-86 Z M-66 -84 H-54 V20 H-66 Z M58 -84 H70 V20 H58 Z"),
  );
}

function boxes(x: number, y: number): SVGElement {
  return svg(
    "g",
    { transform: `translate(${x} ${y})` },
    block("box", -100, -84, 110, 90, 3),
    block("box-dark", -100, -84, 110, 16, 3),
    block("box-tape", -54, -84, 18, 40),
    block("box", -84, -146, 82, 62, 3),
    block("box-dark", -84, -146, 82, 13, 3),
  );
}

function globe(x: number, y: number): SVGElement {
  return svg(
    "g",
    { transform: `translate(${x} ${y})` },
    path("wood", "M-4 36 H8 L14 52 H-10 Z"),
    svg("circle", { class: "t-blue", r: 36 }),
    path(
      "leaf-mid",
      "M-22 -20 C-10 -34 6 -28 4 -16 C2 -4 -14 -8 -16 4 C-26 2 -30 -10 -22 -20 Z M8 6 C20 -2 32 2 30 12 C24 26 10 26 6 18 Z",
    ),
    path("t-shade", "M0 36 A36 36 0 0 0 26 -25 C24 0 10 24 -18 31 C-12 34 -6 36 0 36 Z"),
  );
}

function stackOfBooks(x: number, y: number): SVGElement {
  return svg(
    "g",
    { transform: `translate(${x} ${y})` },
    block("t-plum", -44, -18, 92, 18, 3),
    block("t-blue", -38, -34, 80, 16, 3),
    block("t-red", -40, -49, 74, 15, 3),
    block("t-honey", -30, -62, 62, 13, 3),
  );
}
