/* Name, chatter, home, files, pausing, deleting, and the other pets of this browser. */

import { html, put } from "./dom.js";
import { NAME_MAX } from "./items.js";
import { nameOf, say } from "./strings.js";

/** Idle slots a waking hour that the engine offers. */
const CHATTERS = [0, 1, 2, 4];

/** `act` has one function for each button: rename, chatter, exportSave, importSave, park, resume, remove, show,
    adopt. */
export function makeSettings(act) {
  const element = html("div", { class: "panel" });
  let shown = "";

  function update(model, pets) {
    const state = JSON.stringify([model.name, model.chatter, model.status, model.host, pets]);
    const focused = element.contains(document.activeElement) ? document.activeElement : null;
    // a name that is being typed is left alone until it is done
    if (state === shown || focused?.type === "text") return;
    shown = state;
    const { name, host } = model;
    const home = html(
      "div",
      { class: "card" },
      html("h3", {}, say("settings.home")),
      html("p", { class: "small" }, say("settings.home.text", { name, host })),
    );
    put(
      element,
      html("h2", {}, say("settings.heading")),
      nameForm(model, act),
      chatterChoice(model, act),
      home,
      fileCard(model, act),
      lifeCard(model, act),
      petsCard(pets, act),
    );
    if (focused?.id) document.getElementById(focused.id)?.focus({ preventScroll: true });
  }
  return { element, update };
}

function nameForm({ name, status }, act) {
  const input = html("input", { id: "rename", type: "text", value: name, maxlength: NAME_MAX, autocomplete: "off" });
  const save = html("button", { type: "submit", disabled: status !== "active" }, say("settings.name.save"));
  const wrong = html("p", { class: "small wrong", role: "alert", hidden: true }, say("meet.name.empty"));
  const tell = (empty) => {
    wrong.hidden = !empty;
    input.setAttribute("aria-invalid", String(empty));
  };
  input.addEventListener("input", () => tell(false));
  const submit = (event) => {
    event.preventDefault();
    const wanted = input.value.trim();
    tell(wanted === "");
    if (wanted === "") {
      wrong.scrollIntoView({ block: "nearest" });
      return input.focus();
    }
    input.blur();
    if (wanted !== name) act.rename(wanted);
  };
  const row = html("div", { class: "inline" }, input, save);
  return html(
    "form",
    { class: "field", onsubmit: submit },
    html("label", { for: "rename" }, say("settings.name")),
    row,
    wrong,
  );
}

function chatterChoice({ chatter, status }, act) {
  const options = CHATTERS.map((value) => {
    const attributes = {
      id: `chatter-${value}`,
      type: "radio",
      name: "chatter",
      value,
      checked: value === chatter,
      disabled: status !== "active",
    };
    return html(
      "label",
      {},
      html("input", { ...attributes, onchange: () => act.chatter(value) }),
      nameOf("chatter", value),
    );
  });
  return html(
    "fieldset",
    { class: "field" },
    html("legend", {}, say("settings.chatter")),
    html("div", { class: "choices" }, ...options),
  );
}

function fileCard({ name }, act) {
  return html(
    "div",
    { class: "card" },
    html("p", { class: "small" }, say("settings.export.text", { name })),
    html(
      "div",
      { class: "row" },
      html("button", { type: "button", onclick: () => act.exportSave() }, say("settings.export")),
    ),
    html("p", { class: "small" }, say("settings.import.text")),
    html("div", { class: "row" }, importButton(act)),
  );
}

/** A button that asks for a file and hands it to `act.importSave`. */
export function importButton(act, className = "") {
  const file = html("input", { type: "file", accept: "application/json,.json", hidden: true, "data-import": true });
  file.addEventListener("change", () => {
    if (file.files.length > 0) act.importSave(file.files[0]);
    file.value = "";
  });
  const button = html(
    "button",
    { type: "button", class: className, onclick: () => file.click() },
    say(className ? "meet.import" : "settings.import"),
  );
  return html("span", {}, button, file);
}

function lifeCard({ name, status }, act) {
  const parked = status === "parked" || status === "prepared";
  const key = parked ? "settings.resume" : "settings.park";
  const change = html(
    "button",
    {
      id: "life",
      type: "button",
      "data-life": parked ? "resume" : "park",
      onclick: () => (parked ? act.resume() : act.park()),
    },
    say(key),
  );
  const remove = html(
    "button",
    { type: "button", class: "danger", onclick: () => act.remove() },
    say("settings.delete"),
  );
  return html(
    "div",
    { class: "card" },
    html("p", { class: "small" }, parked ? say("parked.text", { name }) : say("settings.park.text", { name })),
    html("div", { class: "row" }, change),
    html("p", { class: "small" }, say("settings.delete.text", { name })),
    html("div", { class: "row" }, remove),
  );
}

function petsCard(pets, act) {
  const rows = pets.map(({ localId, name, current, host }) => {
    const show = () => act.show(localId);
    const button = current
      ? html("span", { class: "small soft" }, say("settings.pets.here"))
      : html("button", { type: "button", disabled: host !== null, onclick: show }, say("settings.pets.show"));
    return html(
      "li",
      {},
      html(
        "span",
        {},
        name ?? say("settings.pets.unnamed"),
        host ? html("span", { class: "small soft" }, ` · ${host}`) : null,
      ),
      button,
    );
  });
  const adopt = html("button", { type: "button", onclick: () => act.adopt() }, say("settings.pets.adopt"));
  return html(
    "div",
    { class: "card pets" },
    html("h3", {}, say("settings.pets")),
    html("ul", { class: "entries" }, ...rows),
    html("div", { class: "row" }, adopt),
  );
}
