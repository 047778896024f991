/* The first minute: an egg, a name, and the way in. Also shown while a pet is still moving in, with what hinders it. */

import { html, put } from "./dom.js";
import { NAME_MAX } from "./items.js";
import { importButton } from "./settings.js";
import { makeScene } from "./scene.js";
import { skyOf } from "./snapshot.js";
import { say } from "./strings.js";

/** `act`: `adopt(name, code)`, `retry(code)`, `cancel()`, `back()`, `importSave(file)`. `pet` is who is shown:
    `{stage, hue, name?}`, the name of one that is moving in. */
export function makeMeet(act, { host, canGoBack, pet }) {
  const scene = makeScene();
  const alert = html("p", { class: "alert", role: "alert", hidden: true });
  const body = html("div", { class: "field" });
  const title = pet.name ? say("moving.heading", { name: pet.name }) : say("meet.heading");
  const heading = html("h1", {}, title);
  const words = html("div", { class: "words" }, heading, alert, body);
  const element = html("main", { class: "meet" }, html("div", { class: "stage-box" }, scene.root), words);
  const sky = skyOf(Date.now(), undefined);
  scene.show({
    stage: pet.stage,
    asleep: true,
    face: "calm",
    sky,
    lamp: false,
    thinking: false,
    place: "nest",
    weather: "sun",
    hue: pet.hue,
    want: null,
    title,
  });

  function tell(text) {
    alert.hidden = !text;
    alert.textContent = text ?? "";
  }

  function askName({ withCode = false } = {}) {
    const name = html("input", {
      id: "new-name",
      type: "text",
      autocomplete: "off",
      required: true,
      maxlength: NAME_MAX,
    });
    const code = withCode ? codeField() : null;
    const go = html("button", { class: "main", type: "submit" }, say("meet.go"));
    const submit = (event) => {
      event.preventDefault();
      const wanted = name.value.trim();
      if (!wanted) return refuseName(name);
      act.adopt(wanted, code?.querySelector("input").value);
    };
    name.addEventListener("input", () => tell(null));
    const label = html("label", { for: "new-name" }, say("meet.name"));
    const form = html("form", { onsubmit: submit }, html("div", { class: "field" }, label, name), code, go);
    const more = html("div", { class: "row" }, importButton(act, "link"), canGoBack ? backButton(act) : null);
    put(
      body,
      html("p", {}, say("meet.text")),
      form,
      more,
      html("p", { class: "small soft" }, say("meet.where", { host })),
    );
    name.focus({ preventScroll: true });
  }

  function refuseName(name) {
    tell(say("meet.name.empty"));
    name.focus();
  }

  /** The pet is on its way; `problem` says what hinders it, if anything. */
  function moving({ problem = null, needsCode = false } = {}) {
    tell(problem);
    if (!problem) return put(body, html("p", { "aria-busy": "true" }, say("meet.moving")));
    const code = needsCode ? codeField() : null;
    const retry = html("button", { class: "main", type: "submit" }, say("move.retry"));
    const cancel = html("button", { type: "button", onclick: () => act.cancel() }, say("move.cancel"));
    const submit = (event) => {
      event.preventDefault();
      act.retry(code?.querySelector("input").value);
    };
    put(body, html("form", { onsubmit: submit }, code, html("div", { class: "row" }, retry, cancel)));
    code?.querySelector("input").focus({ preventScroll: true });
  }
  return { element, askName, moving, tell };
}

function codeField() {
  const input = html("input", { id: "enrol-code", type: "text", autocomplete: "off" });
  const label = html("label", { for: "enrol-code" }, say("meet.code"));
  return html("div", { class: "field" }, label, input, html("p", { class: "small soft" }, say("meet.code.why")));
}

function backButton(act) {
  return html("button", { class: "link", type: "button", onclick: () => act.back() }, say("meet.back"));
}
