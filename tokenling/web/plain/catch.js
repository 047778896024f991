/* The catch game: a ball crosses the field, and is caught by a tap or the space bar while it is inside the ring.

   `swing` and `isCaught` are the whole game, pure; the rest draws it. Those who prefer less motion get a slower
   ball. */

import { html, put, svg } from "./dom.js";
import { openSheet } from "./dialogs.js";
import { say } from "./strings.js";

export const ROUNDS = 5;
const CROSSING_MS = 1500;
const CALM_CROSSING_MS = 2800;
/** How far from the ring's middle still counts, in shares of the field's width. */
const REACH = 0.11;
const RING = 0.62;
const PAUSE_MS = 900;

/** Where the ball is after `elapsedMs`: `{x, y}` in shares of the field, or null when it has left. */
export function swing(elapsedMs, crossingMs) {
  const x = elapsedMs / crossingMs;
  if (x > 1) return null;
  return { x, y: 0.72 - 1.9 * x * (1 - x) + 0.2 * x };
}

export function isCaught(x) {
  return Math.abs(x - RING) <= REACH;
}

/** Plays one game in a dialog with a pet of this hue. Resolves with the score, or null when the owner closed it before
    the end. */
export async function playCatch(announce, hue) {
  let score = null;
  let stop = () => {};
  await openSheet(say("game.heading"), (close) => {
    const table = makeTable(hue);
    const game = runGame(table, announce, (result) => {
      score = result;
      put(table.foot, html("p", {}, say("game.score", { score: result, rounds: ROUNDS })));
      const done = html("button", { class: "main", type: "button", onclick: close }, say("game.done"));
      table.foot.append(done);
      done.focus();
    });
    stop = game.stop;
    return [
      html("p", { class: "small soft" }, say("game.how", { rounds: ROUNDS })),
      table.field,
      table.status,
      table.foot,
    ];
  });
  stop();
  return score;
}

function makeTable(hue) {
  const ball = svg("circle", { class: "catch-ball", r: 13, cx: -40, cy: 100 });
  const ringAt = swing(RING * 100, 100);
  const ring = svg("circle", { class: "catch-ring", r: 34, cx: RING * 400, cy: ringAt.y * 220 });
  const picture = svg("svg", { viewBox: "0 0 400 220", "aria-hidden": "true" }, meadow(), catcher(), ring, ball);
  const field = html("div", { class: "field-of-play" }, picture);
  // a property, not a style attribute: the page's policy forbids those
  field.style.setProperty("--hue", String(hue));
  const tap = html("button", { class: "main", type: "button", autofocus: true }, say("game.tap"));
  return { ball, field, tap, status: html("p", { class: "soft" }), foot: html("div", { class: "row" }, tap) };
}

function meadow() {
  return svg("path", { class: "catch-meadow", d: "M0 176 C90 160 160 184 250 172 C320 164 360 178 400 170 V220 H0 Z" });
}

/** The pet, seen from afar, looking at where the ball will be. */
function catcher() {
  return svg(
    "g",
    { transform: `translate(${RING * 400} 196)` },
    svg("path", {
      class: "catch-leaf",
      d: "M0 -52 C-4 -64 -20 -68 -26 -62 C-22 -52 -8 -48 0 -52 C4 -64 20 -68 26 -62 C22 -52 8 -48 0 -52 Z",
    }),
    svg("path", {
      class: "catch-pet",
      d: "M-34 -18 C-34 -44 -20 -54 0 -54 S34 -44 34 -18 C34 -2 20 0 0 0 S-34 -2 -34 -18 Z",
    }),
    svg("path", { class: "catch-arms", d: "M-31 -26 q-12 -8 -8 -18 M31 -26 q12 -8 8 -18" }),
    svg("circle", { class: "catch-eye", cx: -10, cy: -34, r: 3.6 }),
    svg("circle", { class: "catch-eye", cx: 10, cy: -34, r: 3.6 }),
    svg("path", { class: "catch-smile", d: "M-6 -24 Q0 -18 6 -24" }),
  );
}

/** The rounds one after the other, on animation frames; `over(score)` once. */
function runGame(table, announce, over) {
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const crossingMs = calm ? CALM_CROSSING_MS : CROSSING_MS;
  const state = { round: 0, score: 0, startMs: null, settled: true, stopped: false, x: 0 };

  function frame(nowMs) {
    if (state.stopped) return;
    state.startMs ??= nowMs;
    const place = swing(nowMs - state.startMs, crossingMs);
    if (place === null) return settle(false);
    state.x = place.x;
    table.ball.setAttribute("cx", place.x * 400);
    table.ball.setAttribute("cy", place.y * 220);
    if (!state.settled) requestAnimationFrame(frame);
  }

  function settle(caught) {
    if (state.settled || state.stopped) return;
    state.settled = true;
    state.score += caught ? 1 : 0;
    table.ball.classList.toggle("caught", caught);
    table.status.textContent = say(caught ? "game.caught" : "game.missed");
    announce(table.status.textContent);
    state.round += 1;
    setTimeout(state.round < ROUNDS ? toss : finish, PAUSE_MS);
  }

  function toss() {
    if (state.stopped) return;
    Object.assign(state, { startMs: null, settled: false, x: 0 });
    table.ball.classList.remove("caught");
    table.status.textContent = say("game.throw", { throw: state.round + 1, rounds: ROUNDS });
    requestAnimationFrame(frame);
  }

  function finish() {
    if (!state.stopped) over(state.score);
  }

  const tapped = (event) => {
    event.preventDefault();
    settle(isCaught(state.x));
  };
  table.field.addEventListener("pointerdown", tapped);
  table.tap.addEventListener("click", tapped);
  // the space bar would only click when it is let go, which is too late to catch anything
  table.tap.addEventListener("keydown", (event) => event.key === " " && !event.repeat && tapped(event));
  setTimeout(toss, PAUSE_MS);
  return { stop: () => (state.stopped = true) };
}
