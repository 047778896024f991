/* Elements without markup strings: text always goes in as text, so nothing a pet or an owner says can become markup. */

const SVG = "http://www.w3.org/2000/svg";

/** `html("p", {class: "note", hidden: true, onclick: f}, "text", child, null)`. */
export function html(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

/** Replaces all children. */
export function put(element, ...children) {
  element.replaceChildren(...children.filter((child) => child !== null && child !== undefined));
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** A stable list: keeps the rows whose key is unchanged, so focus, scroll and running animations survive an update. */
export function syncRows(list, items, keyOf, make) {
  const wanted = new Map(items.map((item) => [String(keyOf(item)), item]));
  for (const row of [...list.children]) if (!wanted.has(row.dataset.key)) row.remove();
  const present = new Map([...list.children].map((row) => [row.dataset.key, row]));
  let place = list.firstChild;
  for (const [key, item] of wanted) {
    const row = present.get(key) ?? make(item);
    row.dataset.key = key;
    if (row === place) place = place.nextSibling;
    else list.insertBefore(row, place);
  }
}
