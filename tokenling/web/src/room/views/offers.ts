/* Offers: what the pet may accept or decline. */

import { picture } from "../icons.ts";
import { FOODS, GIFTS, OFFERS, TOYS } from "../items.ts";
import type { Model } from "../model.ts";
import { thingPicture } from "../scene/things.ts";
import { nameOf, say } from "../strings.ts";
import { pick } from "./sheet.ts";

const ITEMS: Record<string, readonly string[]> = { food: FOODS, toy: TOYS, gift: GIFTS };
const DRAWN_AS: Record<string, string> = { food: "plum", toy: "kite", gift: "gift", catch: "catch" };

export interface Offer {
  offer: string;
  item: string | null;
}

/** Lets the owner choose what to hold out. Resolves with it, or null. */
export async function chooseOffer(name: string): Promise<Offer | null> {
  const offers = OFFERS.map((offer) => {
    const drawn = DRAWN_AS[offer] ?? "gift";
    return {
      item: offer,
      label: say(`offer.${offer}`),
      note: say(`offer.${offer}.text`),
      picture: drawn === "gift" ? picture("gift") : thingPicture(drawn),
    };
  });
  const offer = await pick(say("offer.heading", { name }), offers);
  if (!offer) return null;
  const items = ITEMS[offer];
  if (!items) return { offer, item: null };
  const item = await chooseItem(say(`offer.${offer}.which`), items);
  return item ? { offer, item } : null;
}

export function chooseItem(heading: string, items: readonly string[]): Promise<string | null> {
  return pick(
    heading,
    items.map((item) => ({ item, label: nameOf("item", item), picture: thingPicture(item) })),
  );
}

export function chooseFood(): Promise<string | null> {
  return chooseItem(say("care.feed.choose"), FOODS);
}

/** What is held out, in words: the item, else the kind. */
export function offerName({ kind, item }: NonNullable<Model["offer"]>): string {
  return nameOf("item", item || kind);
}
