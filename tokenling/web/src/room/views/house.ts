/* The house: name and habits, what the page may do, where the pet lives, copies, cards, the other pets, goodbye. A card a
   matter; each is made anew only when what it tells has changed, and a name that is being typed is left alone. */

import type { HouseholdSnapshot, PetSummary } from "../../contract.ts";
import { html, onChange, type Child } from "../dom.ts";
import { icon } from "../icons.ts";
import { CHATTERS, NAME_MAX, typedText } from "../items.ts";
import { ALERT_KINDS, MOTIONS, type AlertKind, type Motion, type Preferences } from "../kept.ts";
import type { Model } from "../model.ts";
import { cameWords, listedNames, type Came } from "../namesakes.ts";
import { nameOf, say } from "../strings.ts";
import { DAY_MS, dayAndTime } from "../times.ts";
import { fileButton } from "./meet.ts";

export interface HouseActions {
  rename(name: string): void;
  chatter(chatter: number): void;
  motion(motion: Motion): void;
  sound(on: boolean): void;
  quiet(on: boolean): void;
  alerts(on: boolean): void;
  alertAbout(kind: AlertKind, on: boolean): void;
  alertsByNight(on: boolean): void;
  moveToHost(): void;
  moveHere(): void;
  resume(): void;
  recover(): void;
  showCard(): void;
  changeKey(): void;
  exportSave(): void;
  importFile(file: File): void;
  remove(): void;
  forget(): void;
  show(localId: string): void;
  adopt(): void;
  joinCard(): void;
  persist(): void;
}

export interface HouseState {
  model: Model;
  localId: string;
  preferences: Preferences;
  household: HouseholdSnapshot;
  /** Whether notifications can be had at all, and what the browser said. */
  alertsPermission: string;
  offline: string;
  nowMs: number;
  /** How the pets came into this browser, where it was noted. */
  came: Record<string, Came>;
}

export interface HouseView {
  readonly element: HTMLElement;
  update(state: HouseState): void;
}

type Part = (state: HouseState, act: HouseActions) => { of: unknown; make: () => Child[] };

const PARTS: Record<string, Part> = {
  who: whoPart,
  room: roomPart,
  alerts: alertsPart,
  home: homePart,
  card: cardPart,
  copy: copyPart,
  pets: petsPart,
  bye: byePart,
};

export function makeHouse(act: HouseActions): HouseView {
  const cards = Object.keys(PARTS).map((name) => html("section", { class: "card", "data-part": name }));
  const element = html("div", { class: "panel house" }, ...cards);
  const renders = cards.map(onChange);

  function update(state: HouseState): void {
    for (const [index, part] of Object.values(PARTS).entries()) {
      const card = cards[index];
      const typing =
        card?.contains(document.activeElement) &&
        document.activeElement instanceof HTMLInputElement &&
        document.activeElement.type === "text";
      const { of, make } = part(state, act);
      if (!typing) renders[index]?.(of, make);
      if (card) card.hidden = card.childElementCount === 0;
    }
  }
  return { element, update };
}

// --- who it is -----------------------------------------------------------------------------------------------------

function whoPart({ model }: HouseState, act: HouseActions): ReturnType<Part> {
  const { name, chatter, present, traits, bornMs, zone } = model;
  return {
    of: [name, chatter, present, traits, bornMs],
    make: () => [
      html("h2", {}, say("house.who", { name })),
      html(
        "p",
        { class: "small soft" },
        say("house.born", {
          name,
          date: dayAndTime(bornMs, zone),
          traits: traits.map((trait) => nameOf("trait", trait)).join(say("house.and")),
        }),
      ),
      nameForm(name, present, act),
      radios("chatter", say("house.chatter"), CHATTERS.map(String), String(chatter), (value) => act.chatter(Number(value)), !present),
      html("p", { class: "small soft" }, say("house.language", { name })),
    ],
  };
}

function nameForm(name: string, present: boolean, act: HouseActions): HTMLElement {
  const input = html("input", { id: "rename", type: "text", value: name, maxlength: NAME_MAX, autocomplete: "off", disabled: !present });
  const wrong = html("p", { class: "small wrong", role: "alert", hidden: true }, say("meet.name.empty"));
  const tell = (empty: boolean) => {
    wrong.hidden = !empty;
    input.setAttribute("aria-invalid", String(empty));
  };
  input.addEventListener("input", () => tell(false));
  const submit = (event: Event) => {
    event.preventDefault();
    const wanted = typedText(input.value);
    tell(wanted === "");
    if (wanted === "") return input.focus();
    input.blur();
    if (wanted !== name) act.rename(wanted);
  };
  const row = html("div", { class: "inline" }, input, html("button", { type: "submit", disabled: !present }, say("house.rename")));
  return html("form", { class: "field", onsubmit: submit }, html("label", { for: "rename" }, say("house.name")), row, wrong);
}

function radios(
  name: string,
  legend: string,
  values: readonly string[],
  chosen: string,
  choose: (value: string) => void,
  disabled = false,
): HTMLElement {
  const choice = (value: string) => {
    const input = html("input", {
      id: `${name}-${value}`,
      type: "radio",
      name,
      value,
      checked: value === chosen,
      disabled,
      onchange: () => choose(value),
    });
    return html("label", { class: "choice" }, input, html("span", {}, nameOf(name, value)));
  };
  return html("fieldset", { class: "field" }, html("legend", {}, legend), html("div", { class: "choices" }, ...values.map(choice)));
}

/** A switch of one thing that takes effect at once. */
function toggle(id: string, on: boolean, flip: (on: boolean) => void, options: { note?: string; disabled?: boolean } = {}): HTMLElement {
  const input = html("input", {
    id,
    type: "checkbox",
    role: "switch",
    checked: on,
    disabled: options.disabled ?? false,
    "aria-describedby": options.note ? `${id}-note` : null,
  });
  input.addEventListener("change", () => flip(input.checked));
  return html(
    "div",
    { class: "toggle" },
    html("label", { for: id }, html("span", {}, say(`house.${id}`)), input),
    options.note ? html("p", { id: `${id}-note`, class: "small soft" }, options.note) : null,
  );
}

// --- the room ------------------------------------------------------------------------------------------------------

function roomPart({ preferences: { motion, sound, quiet } }: HouseState, act: HouseActions): ReturnType<Part> {
  return {
    of: [motion, sound, quiet],
    make: () => [
      html("h2", {}, say("house.room")),
      toggle("sound", sound, act.sound, { note: say("house.sound.note") }),
      toggle("quiet", quiet, act.quiet, { note: say("house.quiet.note") }),
      radios("motion", say("house.motion"), MOTIONS, motion, (value) => act.motion(value as Motion)),
    ],
  };
}

function alertsPart({ preferences, alertsPermission, model }: HouseState, act: HouseActions): ReturnType<Part> {
  const { alerts, alertsAbout, alertsByNight } = preferences;
  const denied = alertsPermission === "denied" || alertsPermission === "unsupported";
  return {
    of: [alerts, alertsAbout, alertsByNight, alertsPermission, model.name],
    make: () => [
      html("h2", {}, say("house.alerts.heading")),
      toggle("alerts", alerts && !denied, act.alerts, {
        note: say(denied ? `house.alerts.${alertsPermission}` : "house.alerts.note", { name: model.name }),
        disabled: denied,
      }),
      ...(alerts && !denied
        ? [
            html(
              "div",
              { class: "subtoggles", role: "group", "aria-label": say("house.alerts.about") },
              ...ALERT_KINDS.map((kind) => toggle(`about-${kind}`, alertsAbout[kind], (on) => act.alertAbout(kind, on))),
              toggle("by-night", alertsByNight, act.alertsByNight),
            ),
          ]
        : []),
    ],
  };
}

// --- where it lives ------------------------------------------------------------------------------------------------

function homePart({ model, offline, household, localId }: HouseState, act: HouseActions): ReturnType<Part> {
  const { name, kind, host, link, status } = model;
  const stops = household.stops.filter((stop) => stop.localId === localId && !stop.asks);
  const where = hostName(host);
  const moving = link === "moving";
  return {
    of: [name, kind, host, link, status, offline, stops.map((stop) => stop.stopId), household.persisted],
    make: () => [
      html("h2", {}, say("house.home")),
      html(
        "p",
        { class: "where-now" },
        icon(kind === "local" ? "house" : "move"),
        html("strong", {}, kind === "local" ? say("home.local", { name }) : say("home.remote", { name, host: where })),
      ),
      html("p", { class: "small" }, say(kind === "local" ? "home.local.text" : "home.remote.text", { name, host: where })),
      offline === "ready" || offline === "update_ready" ? html("p", { class: "small kept" }, icon("check"), say("offline.ready")) : null,
      kind === "local" ? persistence(household.persisted, act) : null,
      html("div", { class: "row" }, ...homeButtons(kind, link, status, moving, act, name)),
      ...stops.map((stop) => html("p", { class: "small soft" }, say("home.stop", { host: hostName(stop.host), name: stop.name }))),
    ],
  };
}

function homeButtons(kind: string, link: string, status: string, moving: boolean, act: HouseActions, name: string): Child[] {
  const button = (key: string, run: () => void, disabled = false) =>
    html("button", { id: `home-${key}`, type: "button", disabled, onclick: run }, say(`home.${key}`, { name }));
  if (kind === "local") return [button("to-host", act.moveToHost, moving || link === "starting" || link === "other_tab")];
  const silent = link === "lost" || link === "offline" || link === "gone";
  return [
    status === "parked" || status === "prepared" ? button("resume", act.resume, moving) : null,
    button("to-here", act.moveHere, moving || silent || link === "stopped"),
    silent ? button("recover", act.recover, false) : null,
  ];
}

function persistence(persisted: boolean | null, act: HouseActions): HTMLElement {
  if (persisted) return html("p", { class: "small soft kept" }, icon("check"), say("home.kept"));
  return html(
    "div",
    { class: "kept-ask" },
    html("p", { class: "small" }, say(persisted === false ? "home.notkept" : "home.unasked")),
    html("button", { id: "persist", type: "button", onclick: act.persist }, say("home.persist")),
  );
}

function cardPart({ model }: HouseState, act: HouseActions): ReturnType<Part> {
  const { name, kind, host } = model;
  return {
    of: [name, kind, host],
    make: () =>
      kind === "local"
        ? []
        : [
            html("h2", {}, say("house.card")),
            html("p", { class: "small" }, say("house.card.text", { name })),
            html(
              "div",
              { class: "row" },
              html("button", { id: "show-card", type: "button", onclick: act.showCard }, icon("card"), say("house.card.show")),
              html("button", { id: "change-key", type: "button", class: "plain", onclick: act.changeKey }, say("house.card.key")),
            ),
          ],
  };
}

function copyPart({ model, household, localId, nowMs }: HouseState, act: HouseActions): ReturnType<Part> {
  const exported = household.pets.find((pet) => pet.localId === localId)?.exportedAtMs ?? null;
  const age = exportAge(exported, nowMs);
  return {
    of: [model.name, model.kind, age],
    make: () => [
      html("h2", {}, say("house.copy")),
      html("p", { class: "small" }, say("house.copy.text", { name: model.name })),
      html("p", { class: "small export-age" }, age),
      html(
        "div",
        { class: "row" },
        html("button", { id: "export", type: "button", onclick: act.exportSave }, icon("file"), say("house.export")),
        fileButton(say("house.import"), act.importFile, "plain"),
      ),
      html("p", { class: "small soft" }, say("house.import.text")),
    ],
  };
}

export function exportAge(exportedAtMs: number | null, nowMs: number): string {
  if (exportedAtMs === null) return say("export.never");
  const days = Math.floor((nowMs - exportedAtMs) / DAY_MS);
  if (days <= 0) return say("export.today");
  return days === 1 ? say("export.yesterday") : say("export.days", { days });
}

// --- the pets of this browser --------------------------------------------------------------------------------------

function petsPart({ household, localId, came }: HouseState, act: HouseActions): ReturnType<Part> {
  const pets = household.pets.filter((pet) => !pet.leaving);
  const names = listedNames(pets);
  return {
    of: [pets, localId, came],
    make: () => [
      html("h2", {}, say("house.pets")),
      html(
        "ul",
        { class: "pets" },
        ...pets.map((pet) =>
          petRow(pet, { name: names.get(pet.localId) ?? "", came: came[pet.localId], current: pet.localId === localId }, act),
        ),
      ),
      new Set(pets.map(({ name }) => name)).size < pets.length ? html("p", { class: "small soft" }, say("pets.same")) : null,
      html(
        "div",
        { class: "row" },
        html("button", { id: "adopt", type: "button", onclick: act.adopt }, say("house.adopt")),
        html("button", { id: "join-card", type: "button", class: "plain", onclick: act.joinCard }, icon("card"), say("house.join")),
      ),
    ],
  };
}

function petRow(
  pet: PetSummary,
  { name, came, current }: { name: string; came: Came | undefined; current: boolean },
  act: HouseActions,
): HTMLElement {
  const face = html("span", { class: "pet-dot", "aria-hidden": "true" });
  face.style.setProperty("--hue", String(pet.hue ?? 150));
  const where = pet.kind === "local" ? say("pets.here") : hostName(pet.host);
  const open = current
    ? html("span", { class: "small soft" }, say("pets.shown"))
    : html(
        "button",
        {
          id: `show-${pet.localId}`,
          type: "button",
          "aria-label": say("pets.show.named", { name }),
          onclick: () => act.show(pet.localId),
        },
        say("pets.show"),
      );
  return html(
    "li",
    { "aria-current": current ? "true" : null },
    face,
    html(
      "span",
      { class: "pet-name" },
      html("strong", { dir: "auto" }, name),
      html("span", { class: "small soft" }, [nameOf("stage", pet.stage), where, cameWords(came)].filter(Boolean).join(" · ")),
    ),
    open,
  );
}

function byePart({ model }: HouseState, act: HouseActions): ReturnType<Part> {
  const { name, kind, link } = model;
  return {
    of: [name, kind, link],
    make: () => [
      html("h2", {}, say("house.bye")),
      html("p", { class: "small" }, say(kind === "local" ? "bye.local" : "bye.remote", { name })),
      html(
        "div",
        { class: "row" },
        html("button", { id: "delete", type: "button", class: "danger", onclick: act.remove }, say("bye.delete")),
        kind === "remote" ? html("button", { id: "forget", type: "button", class: "plain", onclick: act.forget }, say("bye.forget")) : null,
      ),
    ],
  };
}

/** A host as an owner knows it: without the scheme. */
export function hostName(host: string | null): string {
  return (host ?? "").replace(/^https?:\/\//, "") || say("home.nowhere");
}
