/* Outside: the garden and the pond. Their colours are the hour's and the season's. */

import { svg } from "../dom.ts";
import { block, layer, path } from "./shapes.ts";

function tuft(x: number, y: number): SVGElement {
  return path("grass", `M${x} ${y} q-3 -14 -10 -20 q8 4 11 14 q-1 -14 2 -24 q3 10 3 24 q3 -10 11 -14 q-7 8 -9 20 Z`);
}

function bloom(x: number, y: number, kind: number, size = 1): SVGElement {
  const petals = [0, 72, 144, 216, 288].map((turn) =>
    svg("ellipse", { class: "petal", cx: 0, cy: -7, rx: 5, ry: 7.5, transform: `rotate(${turn})` }),
  );
  return svg(
    "g",
    { class: `bloom bloom-${kind}`, transform: `translate(${x} ${y}) scale(${size})` },
    path("stalk", "M0 4 V34 M0 22 C-8 22 -12 18 -13 12 C-6 12 -2 16 0 22 Z"),
    ...petals,
    svg("circle", { class: "bloom-heart", r: 4.2 }),
  );
}

export function garden(): SVGSVGElement {
  return layer(
    "garden",
    "back",
    path("ground-2", "M-480 430 C-200 396 40 404 300 412 C560 396 840 400 1120 424 V700 H-480 Z"),
    bigTree(),
    fence(),
    path("ground-1", "M-480 476 C-240 452 40 456 320 462 C600 452 880 456 1120 474 V700 H-480 Z"),
    path("path", "M300 462 C340 486 250 512 300 548 C330 572 290 600 280 700 H452 C440 620 470 590 428 552 C384 514 440 486 372 462 Z"),
    path("stones", "M318 492 h34 M300 526 h40 M330 574 h56 M318 622 h60"),
    ...[
      [40, 520],
      [110, 588],
      [196, 500],
      [560, 516],
      [610, 590],
      [500, 612],
      [-60, 560],
      [700, 540],
    ].map(([x, y]) => tuft(x ?? 0, y ?? 0)),
    bloom(84, 486, 0),
    bloom(128, 520, 1, 0.9),
    bloom(36, 560, 2, 1.1),
    bloom(566, 486, 1),
    bloom(600, 528, 0, 1.1),
    bloom(530, 548, 2, 0.9),
    bloom(-80, 520, 0, 1.2),
    bloom(710, 500, 2, 1.2),
  );
}

function bigTree(): SVGElement {
  return svg(
    "g",
    { class: "big-tree", transform: "translate(96 470)" },
    path("trunk", "M-24 14 C-14 -40 -18 -120 -34 -176 L-8 -132 L-2 -210 L14 -140 L48 -190 C26 -120 22 -50 34 14 Z"),
    svg(
      "g",
      { class: "boughs" },
      path("twigs", "M-6 -160 L-60 -250 M-2 -200 V-290 M10 -160 L70 -260 M-34 -206 L-70 -210 M40 -210 L84 -214"),
    ),
    svg(
      "g",
      { class: "crowns" },
      svg("circle", { class: "crown-dark", cx: -66, cy: -222, r: 62 }),
      svg("circle", { class: "crown-dark", cx: 76, cy: -216, r: 58 }),
      svg("circle", { class: "crown", cx: 4, cy: -264, r: 84 }),
      svg("circle", { class: "crown", cx: -40, cy: -196, r: 52 }),
      svg("circle", { class: "crown-light", cx: -16, cy: -290, r: 48 }),
      svg("circle", { class: "crown-light", cx: 52, cy: -228, r: 34 }),
    ),
    svg(
      "g",
      { class: "fruit" },
      ...[
        [-70, -214],
        [-20, -236],
        [42, -204],
        [70, -250],
        [10, -300],
        [-44, -276],
      ].map(([cx, cy]) => svg("circle", { cx, cy, r: 7 })),
    ),
    path("swing-rope", "M58 -196 V-70 M110 -190 V-70"),
    block("wood", 50, -74, 68, 10, 3),
  );
}

function fence(): SVGElement {
  const pales: SVGElement[] = [];
  for (let x = 240; x < 1120; x += 34) pales.push(path("pale", `M${x} 470 V398 L${x + 10} 386 L${x + 20} 398 V470 Z`));
  return svg("g", { class: "fence" }, block("pale-rail", 226, 410, 900, 8), block("pale-rail", 226, 444, 900, 8), ...pales);
}

export function gardenFront(): SVGSVGElement {
  return layer(
    "garden",
    "front",
    ...[
      [-20, 640],
      [60, 644],
      [150, 646],
      [480, 646],
      [570, 642],
      [650, 646],
    ].map(([x, y]) => svg("g", { transform: `translate(${x} ${y}) scale(1.5)` }, tuft(0, 0))),
    bloom(24, 616, 1, 1.3),
    bloom(616, 612, 0, 1.3),
  );
}

export function pond(): SVGSVGElement {
  const still = layer(
    "pond",
    "back",
    path("ground-2", "M-480 408 C-200 384 40 392 300 396 C560 386 840 390 1120 408 V700 H-480 Z"),
    willow(),
    path("bank-dark", "M-60 480 C80 424 620 420 760 476 C900 540 760 680 320 680 C-120 680 -180 540 -60 480 Z"),
    path("water", "M-40 486 C90 436 612 432 742 482 C868 542 740 664 320 664 C-100 664 -156 542 -40 486 Z"),
    path("water-light", "M60 486 C180 458 520 456 640 482 C560 476 420 478 330 484 C240 490 140 492 60 486 Z"),
    svg("g", { class: "ice" }, path("ice-line", "M120 560 l60 -30 l40 22 M430 520 l70 34 l50 -16 M360 620 l60 -18")),
    lilyPad(470, 560, 1),
    lilyPad(548, 520, 0.7),
    lilyPad(96, 566, 0.8),
    reeds(40, 512),
    reeds(610, 520),
    path("rock-shade", "M120 556 C130 584 340 586 356 552 C372 572 340 596 238 596 C140 596 104 578 120 556 Z"),
    path("rock", "M124 548 C120 508 176 496 238 496 C306 496 360 510 354 548 C350 580 128 582 124 548 Z"),
    path("rock-dark", "M354 548 C350 580 190 584 146 568 C250 572 316 552 322 510 C344 518 358 530 354 548 Z"),
    path("moss", "M150 516 C176 500 206 498 238 497 C226 508 190 508 178 518 C168 526 148 528 150 516 Z"),
  );
  still.append(ripples());
  return still;
}

/** They move, so they lie on the still, not in it. */
function ripples(): SVGElement {
  return svg(
    "g",
    { class: "ripples" },
    path("ripple", "M404 540 q26 -8 52 0 M110 600 q26 -8 52 0 M520 600 q22 -7 44 0 M380 620 q20 -6 40 0 M440 496 q18 -6 36 0"),
  );
}

function willow(): SVGElement {
  const strand = (x: number, long: number) =>
    path("strand", `M${x} -190 C${x + 14} -${190 - long * 0.4} ${x - 6} -${190 - long * 0.7} ${x + 4} -${190 - long}`);
  return svg(
    "g",
    { class: "willow", transform: "translate(560 430)" },
    path("trunk", "M-16 10 C-4 -60 -12 -130 -30 -180 L0 -140 L26 -186 C16 -120 18 -50 30 10 Z"),
    svg(
      "g",
      { class: "crowns" },
      svg("ellipse", { class: "crown-dark", cx: 0, cy: -204, rx: 118, ry: 62 }),
      svg("ellipse", { class: "crown", cx: -10, cy: -222, rx: 92, ry: 46 }),
      ...[-104, -80, -52, -20, 24, 56, 84, 106].map((x, index) => strand(x, 90 + (index % 3) * 26)),
    ),
  );
}

function lilyPad(x: number, y: number, size: number): SVGElement {
  return svg(
    "g",
    { class: "lily", transform: `translate(${x} ${y}) scale(${size})` },
    path("pad-dark", "M0 5 C-50 5 -50 -23 0 -23 C50 -23 50 5 0 5 Z"),
    path("pad", "M0 0 L24 -22 C54 -14 46 6 0 4 C-52 4 -52 -26 -4 -26 C6 -26 8 -26 14 -25 Z"),
    svg(
      "g",
      { class: "lotus", transform: "translate(-14 -16)" },
      path("petal", "M0 0 C-16 -4 -18 -16 -16 -22 C-6 -20 0 -10 0 0 C0 -10 6 -20 16 -22 C18 -16 16 -4 0 0 Z"),
      path("petal-light", "M0 0 C-8 -10 -6 -24 0 -30 C6 -24 8 -10 0 0 Z"),
    ),
  );
}

function reeds(x: number, y: number): SVGElement {
  return svg(
    "g",
    { class: "reeds", transform: `translate(${x} ${y})` },
    path(
      "reed",
      "M-24 20 C-26 -30 -34 -70 -40 -96 C-26 -72 -18 -30 -16 20 Z M0 22 C0 -40 2 -90 -2 -124 C10 -86 10 -36 8 22 Z M22 20 C24 -20 34 -60 44 -84 C42 -50 34 -12 30 20 Z",
    ),
    block("cattail", -8, -112, 10, 38, 5),
    block("cattail", 34, -86, 9, 32, 4),
  );
}

export function pondFront(): SVGSVGElement {
  return layer(
    "pond",
    "front",
    svg("g", { transform: "translate(30 660) scale(1.5)" }, reeds(0, 0)),
    svg("g", { transform: "translate(640 664) scale(1.3)" }, reeds(0, 0)),
  );
}
