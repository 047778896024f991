/* What an owner does about where a pet lives and what is kept of it: moves, cards, keys, copies, goodbyes. Each act asks
   first where it cannot be undone, and rejects with what went wrong. */

import type { Home } from "../contract.ts";
import type { Model } from "./model.ts";
import type { RoomParts } from "./parts.ts";
import { say } from "./strings.ts";
import { showCard } from "./views/cards.ts";
import { hostName } from "./views/house.ts";
import { sayGoodbye, type MovingParts } from "./views/moving.ts";
import { confirm } from "./views/sheet.ts";

export class Keeping {
  constructor(
    private readonly parts: Pick<RoomParts, "household" | "site" | "announce" | "download">,
    private readonly home: Home,
    private readonly localId: string,
    private readonly model: () => Pick<Model, "name" | "zone"> | null,
    /** Shows a sentence for a while. */
    private readonly tell: (text: string) => void,
  ) {}

  movingParts(): MovingParts {
    const { household, site, announce } = this.parts;
    const model = this.model();
    return {
      household,
      home: this.home,
      localId: this.localId,
      name: model?.name ?? "",
      zone: model?.zone,
      defaultHost: site.defaultHost,
      announce,
      exportSave: () => this.export(),
    };
  }

  async export(): Promise<void> {
    const { household, announce } = this.parts;
    const { fileName, text } = await household.exportSave(this.localId);
    this.parts.download(fileName, text);
    await household.keepExported(this.localId);
    announce(say("house.exported"));
  }

  async remove(): Promise<void> {
    const { household, announce } = this.parts;
    const { name } = this.movingParts();
    const exported = household.snapshot().pets.find((pet) => pet.localId === this.localId)?.exportedAtMs ?? null;
    if (!(await sayGoodbye(this.movingParts(), exported, Date.now()))) return;
    await household.remove(this.localId);
    announce(say("delete.done", { name }));
  }

  async forget(): Promise<void> {
    const { name } = this.movingParts();
    const text = [say("forget.text", { name }), say("forget.card", { name })];
    if (await confirm(say("forget.heading", { name }), text, say("bye.forget"), { danger: true }))
      await this.parts.household.forget(this.localId);
  }

  async showCard(): Promise<void> {
    await showCard(this.movingParts().name, await this.parts.household.card(this.localId), hostName(this.home.snapshot().host));
  }

  async changeKey(): Promise<void> {
    const { name } = this.movingParts();
    if (!(await confirm(say("key.heading"), [say("key.text", { name })], say("key.go")))) return;
    await this.parts.household.changeKey(this.localId);
    this.tell(say("key.done"));
  }

  async persist(): Promise<void> {
    this.tell(say((await this.parts.household.persist()) ? "home.kept" : "home.refused"));
  }
}
