/* How it lives: the body in words, its week as the page saw it, what it keeps and remembers, what happened lately. */

import { html, onChange, svg, type Child } from "../dom.ts";
import { eventText } from "../events.ts";
import { icon } from "../icons.ts";
import { METERS, bandOf, type Meter, type Model } from "../model.ts";
import { thingPicture } from "../scene/things.ts";
import { PET_LANGUAGE, bandWord, nameOf, say } from "../strings.ts";
import { clockTime, dayName, hourOfDay, weekday } from "../times.ts";
import { daysOf, plotOf, type Sample } from "../week.ts";

/** As many as fit a look; the save holds more. */
const EVENTS_SHOWN = 40;
const PLOT = { width: 320, height: 96 } as const;

export interface LifeView {
  readonly element: HTMLElement;
  update(model: Model, samples: readonly Sample[], nowMs: number): void;
}

export function makeLife(): LifeView {
  const body = html("section", { class: "card" });
  const kept = html("section", { class: "card" });
  const remembered = html("section", { class: "card" });
  const happened = html("section", { class: "card" });
  const element = html("div", { class: "panel life", tabindex: "0" }, body, kept, remembered, happened);
  const renders = [body, kept, remembered, happened].map(onChange);
  let chosen: Meter = "fullness";
  let last: [Model, readonly Sample[], number] | null = null;

  function choose(meter: Meter): void {
    chosen = meter;
    if (last) update(...last);
  }

  function update(model: Model, samples: readonly Sample[], nowMs: number): void {
    last = [model, samples, nowMs];
    const { name, zone } = model;
    const lastSample = samples.at(-1);
    renders[0]?.([name, chosen, model.meters, samples.length, lastSample], () => bodyPart(model, samples, nowMs, chosen, choose));
    renders[1]?.([name, model.treasures], () => treasurePart(model));
    renders[2]?.([name, model.memories], () => memoryPart(model));
    renders[3]?.([name, zone, model.events], () => eventPart(model));
  }
  return { element, update };
}

function bodyPart(model: Model, samples: readonly Sample[], nowMs: number, chosen: Meter, choose: (meter: Meter) => void): Child[] {
  const plot = plotOf(samples, chosen, nowMs, PLOT.width, PLOT.height);
  const word = bandWord(chosen, bandOf(model.meters[chosen]));
  const summary = say("week.summary", { meter: say(`meter.${chosen}`), word, hours: plot.hours });
  return [
    html("h2", {}, say("week.heading", { name: model.name })),
    html(
      "div",
      { class: "chips", role: "group", "aria-label": say("week.choose") },
      ...METERS.map((meter) => chip(meter, model, chosen, choose)),
    ),
    html(
      "figure",
      { class: "week" },
      drawing(plot, model.zone, nowMs, summary),
      html("figcaption", { class: "small soft" }, say("week.note")),
    ),
  ];
}

function chip(meter: Meter, model: Model, chosen: Meter, choose: (meter: Meter) => void): HTMLElement {
  const word = bandWord(meter, bandOf(model.meters[meter]));
  return html(
    "button",
    { id: `week-${meter}`, type: "button", class: "chip", "aria-pressed": String(meter === chosen), onclick: () => choose(meter) },
    icon(meter),
    html("span", {}, html("strong", {}, say(`meter.${meter}`)), html("span", { class: "small" }, word)),
  );
}

function drawing(plot: ReturnType<typeof plotOf>, zone: string | undefined, nowMs: number, label: string): SVGSVGElement {
  const { width, height } = PLOT;
  const bands = [0.15, 0.35, 0.65, 0.88].map((border) => svg("path", { class: "band-line", d: `M0 ${height * (1 - border)} H${width}` }));
  const days = daysOf(nowMs, zone, hourOfDay).flatMap(({ at, atMs }) => {
    const x = at * width;
    return [
      svg("path", { class: "day-line", d: `M${x.toFixed(1)} 0 V${height}` }),
      x < width - 14 ? svg("text", { class: "day-name", x: x + 3, y: height + 14 }, weekday(atMs + 1, zone)) : null,
    ];
  });
  return svg(
    "svg",
    { viewBox: `0 -4 ${width} ${height + 22}`, role: "img", "aria-label": label },
    svg("rect", { class: "plot-ground", x: 0, y: 0, width, height, rx: 6 }),
    ...bands,
    ...days.filter((part) => part !== null),
    svg("path", { class: "plot-line", d: plot.line || "M0 0" }),
    ...plot.dots.map(({ x, y }) => svg("circle", { class: "plot-dot", cx: x, cy: y, r: 3.4 })),
  );
}

function treasurePart({ treasures, name }: Model): Child[] {
  const rows = treasures.map((item) => html("li", {}, thingPicture(item), html("span", {}, nameOf("item", item))));
  return [
    html("h2", {}, say("treasures.heading", { name })),
    rows.length ? html("ul", { class: "treasures" }, ...rows) : emptyNote("treasures.empty", name),
  ];
}

function memoryPart({ memories, name }: Model): Child[] {
  const rows = memories.map((memory) => html("li", { dir: "auto", lang: PET_LANGUAGE }, memory));
  return [
    html("h2", {}, say("memories.heading", { name })),
    rows.length ? html("ul", { class: "memories" }, ...rows) : emptyNote("memories.empty", name),
  ];
}

function eventPart(model: Model): Child[] {
  const rows = [...model.events].reverse().slice(0, EVENTS_SHOWN);
  const list = rows.map((event) => {
    const time = html(
      "time",
      { datetime: new Date(event.atMs).toISOString() },
      dayName(event.atMs, model.zone),
      html("br"),
      clockTime(event.atMs, model.zone),
    );
    return html("li", { class: "happening" }, time, html("span", {}, eventText(event, model.name)));
  });
  return [
    html("h2", {}, say("events.heading")),
    list.length ? html("ol", { class: "happenings" }, ...list) : emptyNote("events.empty", model.name),
  ];
}

function emptyNote(key: string, name: string): HTMLElement {
  return html("p", { class: "soft" }, say(key, { name }));
}
