/* How much of each colour the hour and the weather leave, as factors of red, green and blue. They are worked into the colours
   of the shapes once, when the light changes: a veil or a filter over the room would have to be blended for each frame. */

export interface Light {
  /** Of what stands still: walls, floor, garden, hills. */
  still: Factors;
  /** Of the pet and what stands before it: nearer, so less of the dark is between. */
  near: Factors;
}

export type Factors = readonly [red: number, green: number, blue: number];

interface Dark {
  /** The colour that the dark leans to. */
  readonly tint: Factors;
  readonly strength: number;
}

const NOTHING: Dark = { tint: [1, 1, 1], strength: 0 };
const WET: Dark = { tint: [0.224, 0.255, 0.369], strength: 0.14 };
const STORM: Dark = { tint: WET.tint, strength: 0.24 };
const HOURS: Record<string, Dark> = {
  dawn: { tint: [0.427, 0.29, 0.471], strength: 0.12 },
  dusk: { tint: [0.255, 0.149, 0.373], strength: 0.26 },
  night: { tint: [0.231, 0.239, 0.525], strength: 0.6 },
};
/** Under the open sky the dark is less deep. */
const STRENGTH_OUTDOORS: Record<string, number> = { dusk: 0.1, night: 0.36 };
const BETWEEN = 0.42;
/** What a lit lamp leaves of the dark, behind and before the pet, and how it warms what is near. */
const LAMP = { behind: 0.6, before: 0.16, warmth: [1.03, 1, 0.95] as Factors };

export function lightOf({ sky, weather, outdoors, lamp }: { sky: string; weather: string; outdoors: boolean; lamp: boolean }): Light {
  const { tint, strength } = darkOf(sky, weather);
  const deep = outdoors ? (STRENGTH_OUTDOORS[sky] ?? strength) : strength;
  const lit = lamp && !outdoors;
  const behind = veiled(tint, deep * (lit ? LAMP.behind : 1));
  const before = veiled(tint, deep * (lit ? LAMP.before : BETWEEN));
  const near = lit && deep > 0 ? times(before, LAMP.warmth) : before;
  return { still: times(behind, before), near };
}

const SHAPES = "path, rect, circle, ellipse, stop";
const PAINTS = ["fill", "stroke", "stop-color"] as const;

/** Gives the shapes within `root` the colours of their classes as they look in this light. `root` stands in the page. */
export function lightUp(root: Element, [red, green, blue]: Factors): void {
  const shapes = [...root.querySelectorAll<SVGElement>(SHAPES)];
  for (const shape of shapes) for (const paint of PAINTS) shape.style.removeProperty(paint);
  if (red === 1 && green === 1 && blue === 1) return;
  const colours = shapes.map((shape) => PAINTS.map((paint) => getComputedStyle(shape).getPropertyValue(paint)));
  for (const [index, shape] of shapes.entries())
    for (const [at, paint] of PAINTS.entries()) {
      const colour = colours[index]?.[at] ?? "";
      if (/^(rgb|color|ok)/.test(colour))
        shape.style.setProperty(paint, `rgb(from ${colour} calc(r * ${red}) calc(g * ${green}) calc(b * ${blue}) / alpha)`);
    }
}

function darkOf(sky: string, weather: string): Dark {
  if (sky !== "night" && weather === "storm") return STORM;
  if (sky !== "night" && (weather === "rain" || weather === "fog")) return WET;
  return HOURS[sky] ?? NOTHING;
}

function veiled(tint: Factors, strength: number): Factors {
  return tint.map((part) => 1 - strength + strength * part) as unknown as Factors;
}

function times(one: Factors, other: Factors): Factors {
  return one.map((factor, index) => factor * (other[index] ?? 1)) as unknown as Factors;
}
