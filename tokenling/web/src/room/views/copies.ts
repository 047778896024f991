/* Which copy of a pet to go on from: the newest that can be lived is chosen, each says how old it is, and one that the rules
   refuse says so. */

import type { PetCopy } from "../../contract.ts";
import { html } from "../dom.ts";
import { say } from "../strings.ts";
import { dayAndTime } from "../times.ts";
import { openSheet } from "./sheet.ts";

export interface CopyQuestion {
  heading: string;
  text: string[];
  go: string;
  none: string;
  zone: string | undefined;
}

/** Resolves with the copy that the owner wants, or null. */
export async function chooseCopy(copies: readonly PetCopy[], ask: CopyQuestion): Promise<PetCopy | null> {
  const sheet = openSheet(ask.heading);
  let wanted = copies.find(({ problem }) => problem === null) ?? null;
  let sure = false;
  const go = () => {
    sure = true;
    sheet.close();
  };
  const text = wanted === null ? [ask.none] : ask.text;
  const choose = (copy: PetCopy) => (wanted = copy);
  sheet.show(
    ...text.map((line) => html("p", {}, line)),
    copies.length > 1 || wanted === null ? choices(copies, wanted, choose, ask.zone) : null,
    html(
      "div",
      { class: "row end" },
      html("button", { type: "button", onclick: () => sheet.close() }, say(wanted === null ? "sheet.close" : "sheet.cancel")),
      wanted === null ? null : html("button", { type: "button", class: "main", onclick: go }, ask.go),
    ),
  );
  await sheet.closed;
  return sure ? wanted : null;
}

function choices(copies: readonly PetCopy[], wanted: PetCopy | null, choose: (copy: PetCopy) => void, zone: string | undefined) {
  const rows = copies.map((copy, index) => {
    const id = `copy-${index}`;
    const time = dayAndTime(copy.atMs, zone);
    const label = copy.problem === null ? time : say("copies.refused", { time, why: say(`copies.why.${copy.problem}`) });
    const input = html("input", {
      id,
      type: "radio",
      name: "copy",
      checked: copy === wanted,
      disabled: copy.problem !== null,
      onchange: () => choose(copy),
    });
    return html("label", { class: "choice", for: id }, input, html("span", {}, label));
  });
  return html("fieldset", { class: "field copies" }, html("legend", {}, say("copies.which")), html("div", { class: "choices" }, ...rows));
}
