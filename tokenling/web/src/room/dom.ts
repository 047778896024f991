/* Elements without markup strings: text always goes in as text, so nothing a pet or an owner says can become markup. */

const SVG = "http://www.w3.org/2000/svg";

export type Attribute = string | number | boolean | null | undefined | ((event: never) => void);
export type Attributes = Record<string, Attribute>;
export type Child = Node | string | null | undefined | false;

/** `html("p", {class: "note", hidden: true, onclick: f}, "text", child, null)`. */
export function html<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[Name] {
  return fill(document.createElement(name), attributes, children);
}

export function svg<Name extends keyof SVGElementTagNameMap>(
  name: Name,
  attributes: Attributes = {},
  ...children: Child[]
): SVGElementTagNameMap[Name] {
  return fill(document.createElementNS(SVG, name) as SVGElementTagNameMap[Name], attributes, children);
}

/** Replaces all children. */
export function put(element: Element, ...children: Child[]): void {
  element.replaceChildren(...present(children));
}

/** Sets text only when it differs, so that a live region or a selection is not disturbed. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

function present(children: Child[]): (Node | string)[] {
  return children.filter((child): child is Node | string => child !== null && child !== undefined && child !== false);
}

function fill<Kind extends Element>(element: Kind, attributes: Attributes, children: Child[]): Kind {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name.slice(2), value as EventListener);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  element.append(...present(children));
  return element;
}

/** A stable list: keeps the rows whose key is unchanged, so focus, scroll and running animations survive an update. */
export function syncRows<Item>(
  list: HTMLElement,
  items: readonly Item[],
  keyOf: (item: Item) => string,
  make: (item: Item) => HTMLElement,
): void {
  const wanted = new Map(items.map((item) => [keyOf(item), item]));
  const rows = [...list.children] as HTMLElement[];
  for (const row of rows) if (!wanted.has(row.dataset.key ?? "")) row.remove();
  const kept = new Map(([...list.children] as HTMLElement[]).map((row) => [row.dataset.key, row]));
  let place = list.firstChild;
  for (const [key, item] of wanted) {
    const row = kept.get(key) ?? make(item);
    row.dataset.key = key;
    if (row === place) place = place.nextSibling;
    else list.insertBefore(row, place);
  }
}

/** Runs `make` only when what it is made of has changed; keeps the focus on the element of the same id. */
export function onChange(element: HTMLElement): (made: unknown, make: () => Child[]) => boolean {
  let shown: string | null = null;
  return (made, make) => {
    const state = JSON.stringify(made);
    if (state === shown) return false;
    shown = state;
    const focused = element.contains(document.activeElement) ? document.activeElement?.id : "";
    put(element, ...make());
    if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
    return true;
  };
}
