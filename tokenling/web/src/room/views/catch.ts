/* The catch game: a ball crosses the field, and is caught by a tap, a click or the space bar while it is inside the ring. */

import { CALM_CROSSING_MS, CROSSING_MS, RING, ROUNDS, isCaught, swing, timeLeft } from "../catch_rules.ts";
import { html, put, svg } from "../dom.ts";
import { say } from "../strings.ts";
import type { SoundName } from "../sound.ts";
import { openSheet } from "./sheet.ts";

const PAUSE_MS = 900;
const FIELD = { width: 400, height: 240 } as const;

export interface CatchOptions {
  hue: number;
  calm: boolean;
  expiresMs: number;
  now(): number;
  announce(text: string): void;
  sound(name: SoundName): void;
}

/** Plays one game in a dialog. Resolves with the score, or null when it was closed or expired before the end. */
export async function playCatch(options: CatchOptions): Promise<number | null> {
  let score: number | null = null;
  const sheet = openSheet(say("game.heading"));
  const table = makeTable(options.hue);
  const game = runGame(table, options, (result) => {
    score = result;
    clearInterval(clock);
    table.left.textContent = ""; // the ball is at rest: nothing runs out any more
    const done = html("button", { class: "main", type: "button", onclick: () => sheet.close() }, say("game.done"));
    put(table.foot, done);
    done.focus();
  });
  const clock = watchExpiry(table, options, () => {
    game.stop();
    table.left.textContent = "";
    table.status.textContent = say("game.expired");
    options.announce(say("game.expired"));
    put(table.foot, html("button", { class: "main", type: "button", onclick: () => sheet.close() }, say("game.done")));
  });
  sheet.show(
    html("p", { class: "small soft" }, say("game.how", { rounds: ROUNDS })),
    table.field,
    html("div", { class: "game-state" }, table.status, table.left),
    table.foot,
  );
  table.tap.focus();
  await sheet.closed;
  game.stop();
  clearInterval(clock);
  return score;
}

type Table = ReturnType<typeof makeTable>;

function makeTable(hue: number) {
  // a layer of its own over the picture: it flies without anything being painted
  const ball = html(
    "div",
    { class: "catch-ball", hidden: true },
    svg(
      "svg",
      { viewBox: "-16 -16 32 32", "aria-hidden": "true" },
      svg("circle", { class: "t-red", r: 14 }),
      svg("path", { class: "t-cream", d: "M-14 0 A14 14 0 0 1 0 -14 C-5 -6 -5 6 0 14 A14 14 0 0 1 -14 0 Z" }),
    ),
  );
  const at = swing(RING * 100, 100) ?? { x: 0, y: 0 };
  const ring = svg("circle", { class: "catch-ring", r: 38, cx: RING * FIELD.width, cy: at.y * FIELD.height });
  const picture = svg("svg", { viewBox: `0 0 ${FIELD.width} ${FIELD.height}`, "aria-hidden": "true" }, ground(), catcher(), ring);
  const field = html("div", { class: "field-of-play" }, picture, ball);
  // a property, not a style attribute: the page's policy forbids those
  field.style.setProperty("--hue", String(hue));
  const tap = html("button", { class: "main wide", type: "button" }, say("game.tap"));
  return {
    ball,
    ring,
    field,
    tap,
    status: html("p", { class: "status-line" }),
    left: html("p", { class: "small soft" }),
    foot: html("div", { class: "row" }, tap),
  };
}

function ground(): SVGElement {
  return svg(
    "g",
    {},
    svg("path", { class: "catch-hill", d: "M0 150 C80 120 150 140 220 128 C300 116 350 136 400 126 V240 H0 Z" }),
    svg("path", { class: "catch-meadow", d: "M0 190 C90 174 160 198 250 186 C320 178 360 192 400 184 V240 H0 Z" }),
  );
}

/** The pet, seen from afar, looking at where the ball will be. */
function catcher(): SVGElement {
  return svg(
    "g",
    { transform: `translate(${RING * FIELD.width} 214)` },
    svg(
      "g",
      { class: "catcher" },
      svg("path", {
        class: "catch-leaf",
        d: "M0 -58 C-4 -72 -24 -76 -32 -68 C-26 -56 -10 -52 0 -58 C4 -72 24 -76 32 -68 C26 -56 10 -52 0 -58 Z",
      }),
      svg("path", { class: "catch-pet", d: "M-38 -18 C-40 -48 -24 -60 0 -60 S40 -48 38 -18 C38 -2 24 0 0 0 S-38 -2 -38 -18 Z" }),
      svg("ellipse", { class: "catch-belly", cx: 0, cy: -8, rx: 22, ry: 14 }),
      svg("path", { class: "catch-arms", d: "M-34 -28 q-14 -8 -10 -22 M34 -28 q14 -8 10 -22" }),
      svg("circle", { class: "catch-eye", cx: -12, cy: -37, r: 4.4 }),
      svg("circle", { class: "catch-eye", cx: 12, cy: -37, r: 4.4 }),
      svg("path", { class: "catch-smile", d: "M-6 -26 Q0 -19 6 -26" }),
    ),
  );
}

/** Points of a throw between which the browser draws by itself. */
const POINTS = 24;

/** The ball's way over the field, as frames of an animation that the page has no part in while it runs. */
function flight(field: HTMLElement): Keyframe[] {
  const { width, height } = field.getBoundingClientRect();
  return Array.from({ length: POINTS + 1 }, (_, index) => {
    const { x, y } = swing(index, POINTS) ?? { x: 1, y: 1 };
    return { transform: `translate(${(x * width).toFixed(1)}px, ${(y * height).toFixed(1)}px) rotate(${Math.round(x * 540)}deg)` };
  });
}

/** The rounds one after the other; `over(score)` once. */
function runGame(table: Table, { calm, announce, sound }: CatchOptions, over: (score: number) => void): { stop: () => void } {
  const crossingMs = calm ? CALM_CROSSING_MS : CROSSING_MS;
  const state = { round: 0, score: 0, settled: true, stopped: false };
  let thrown: Animation | null = null;

  function settle(caught: boolean): void {
    if (state.settled || state.stopped) return;
    state.settled = true;
    state.score += caught ? 1 : 0;
    state.round += 1;
    if (caught) thrown?.pause();
    table.field.classList.toggle("caught", caught);
    tell(say(caught ? "game.caught" : "game.missed", { score: state.score, round: state.round }));
    sound(caught ? "chirp" : "low");
    setTimeout(state.round < ROUNDS ? toss : finish, PAUSE_MS);
  }

  function tell(text: string): void {
    table.status.textContent = text;
    announce(text);
  }

  function toss(): void {
    if (state.stopped) return;
    state.settled = false;
    table.field.classList.remove("caught");
    table.status.textContent = say("game.throw", { throw: state.round + 1, rounds: ROUNDS });
    table.ball.hidden = false;
    thrown?.cancel();
    thrown = table.ball.animate(flight(table.field), { duration: crossingMs, fill: "both" });
    thrown.onfinish = () => {
      table.ball.hidden = true;
      settle(false);
    };
  }

  function finish(): void {
    if (state.stopped) return;
    tell(say("game.score", { score: state.score, rounds: ROUNDS }));
    over(state.score);
  }

  const tapped = (event: Event) => {
    event.preventDefault();
    const at = swing(Number(thrown?.currentTime ?? 0), crossingMs);
    settle(at !== null && isCaught(at.x));
  };
  table.field.addEventListener("pointerdown", tapped);
  table.tap.addEventListener("pointerdown", tapped);
  // a key would only click when it is let go, which is too late to catch anything
  table.tap.addEventListener("keydown", (event) => (event.key === " " || event.key === "Enter") && !event.repeat && tapped(event));
  setTimeout(toss, PAUSE_MS);
  return { stop: () => (state.stopped = true) };
}

function watchExpiry(table: Table, { expiresMs, now }: CatchOptions, expired: () => void): number {
  const tick = () => {
    table.left.textContent = say("game.left", { left: timeLeft(expiresMs, now()) });
    if (now() < expiresMs) return;
    clearInterval(timer);
    expired();
  };
  const timer = window.setInterval(tick, 500);
  tick();
  return timer;
}
