/* Offers: what the pet may accept or decline, and the way into the catch game. */

import { html, put } from "./dom.js";
import { icon } from "./icons.js";
import { nameOf, say } from "./strings.js";

const OFFERS = ["food", "toy", "gift", "catch"];

/** `act.offer(offer)` makes one, `act.play()` opens the accepted game. */
export function makeTogether(act) {
  const notice = html("div", { hidden: true });
  const intro = html("p", { class: "soft" });
  const cards = OFFERS.map((offer) => offerCard(offer, act));
  const element = html(
    "div",
    { class: "panel" },
    html("h2", {}, say("offer.heading")),
    intro,
    notice,
    html("div", { class: "offers" }, ...cards),
  );
  let shown = "";

  function update(model) {
    intro.textContent = say("offer.text", { name: model.name });
    for (const card of cards) card.disabled = model.status !== "active" || model.game !== null || model.offer !== null;
    const state = JSON.stringify([model.game?.id, model.offer, model.asleep, model.name]);
    if (state === shown) return;
    shown = state;
    notice.hidden = model.game === null && model.offer === null;
    put(notice, model.game ? gameNotice(model, act) : model.offer ? offerNotice(model) : null);
  }
  return { element, update };
}

function offerCard(offer, act) {
  const words = [
    html("strong", {}, say(`offer.${offer}`)),
    html("span", { class: "small soft" }, say(`offer.${offer}.text`)),
  ];
  return html(
    "button",
    { type: "button", "data-offer": offer, onclick: () => act.offer(offer) },
    icon(offer),
    ...words,
  );
}

function gameNotice(model, act) {
  const play = html("button", { class: "main", type: "button", onclick: () => act.play() }, say("game.play"));
  return html(
    "div",
    { class: "card" },
    html("p", {}, say("game.ready", { name: model.name })),
    html("div", { class: "row" }, play),
  );
}

function offerNotice(model) {
  const item = offerName(model.offer);
  const key = model.asleep ? "offer.open.asleep" : "offer.open";
  return html("div", { class: "card" }, html("p", {}, say(key, { name: model.name, item })));
}

/** `{offer, item}` in words: the item, else the kind. */
export function offerName({ offer, item }) {
  return item ? nameOf("item", item) : say(`offer.${offer}`).toLowerCase();
}
