/* Which notices stand above the conversation: what is in the way, what waits for an answer, what is on offer. Pure but for
   the actions that it is given. */

import type { HomeSnapshot, HouseholdSnapshot } from "../contract.ts";
import type { Load } from "./loading.ts";
import type { Model } from "./model.ts";
import { say } from "./strings.ts";
import { clockTime, dayAndTime } from "./times.ts";
import type { Action, Banner } from "./views/banners.ts";
import { hostName } from "./views/house.ts";
import { goBack, letLiveOn, moveBanner, recover, type MovingParts } from "./views/moving.ts";
import { offerName } from "./views/offers.ts";
import { confirm } from "./views/sheet.ts";

export interface Situation {
  snapshot: HomeSnapshot;
  model: Model | null;
  household: HouseholdSnapshot;
  localId: string;
  problem: string | null;
  loading: Load;
  moving: () => MovingParts;
  tell: (problem: unknown) => void;
  closeProblem: () => void;
  play: () => void;
  forget: () => void;
  /** Takes the newer page that lies ready, if one does. */
  update: (() => void) | null;
  alertsOffer: { accept: () => void; decline: () => void } | null;
}

/** Most pressing first. */
export function bannersOf(now: Situation): Banner[] {
  const { problem } = now;
  const banners = [
    ...questions(now),
    ...links(now),
    ...loads(now),
    moveBanner(now.snapshot, now.model?.name ?? "", now.moving, now.tell),
    problem === null ? null : { key: "problem", text: problem, actions: [], close: now.closeProblem },
    stuck(now),
    trouble(now),
    ...clocks(now),
    ...together(now),
    now.update && { key: "update", calm: true, text: say("offline.update"), actions: [{ label: say("offline.reload"), run: now.update }] },
  ].filter((banner) => banner !== null);
  const alerts = alertsBanner(now); // a question of comfort waits until nothing else wants to be read
  return banners.length === 0 && alerts ? [alerts] : banners;
}

/** What only the owner can decide. */
function questions({ snapshot, household, localId, moving, tell }: Situation): Banner[] {
  const banners: Banner[] = [];
  const act = (label: string, work: () => Promise<void>): Action => ({ label, run: () => void work().catch(tell) });
  const { question } = snapshot;
  const parts = moving();
  const { name } = parts;
  if (question?.kind === "two_places") {
    const answer = (keep: "here" | "there") =>
      act(say(`question.${keep}`), () => keepOnly(name, hostName(question.host), keep, () => parts.household.resolveQuestion(localId, keep)));
    banners.push({
      key: "two-places",
      text: say("question.two", { name, host: hostName(question.host) }),
      actions: [answer("here"), answer("there")],
    });
  }
  if (question?.kind === "lost")
    banners.push({
      key: "lost-there",
      text: say("question.lost", { name, host: hostName(question.host) }),
      actions: [act(say("question.another"), () => parts.household.resolveQuestion(localId, "another"))],
    });
  for (const stop of household.stops.filter(({ asks }) => asks)) {
    const answer = (keep: "here" | "there") =>
      act(say(`question.${keep}`), () => keepOnly(stop.name, hostName(stop.host), keep, () => parts.household.resolveStop(stop.stopId, keep)));
    banners.push({
      key: `stop-${stop.stopId}`,
      text: say("question.two", { name: stop.name, host: hostName(stop.host) }),
      actions: [answer("here"), answer("there")],
    });
  }
  return banners;
}

/** One of two lives ends: said once more, with what goes, before it is done. */
async function keepOnly(name: string, host: string, keep: "here" | "there", work: () => Promise<void>): Promise<void> {
  const text = [say(`question.${keep}.lost`, { name, host }), say("question.sure")];
  if (await confirm(say(`question.${keep}`), text, say(`question.${keep}`), { danger: true })) await work();
}

function links(now: Situation): Banner[] {
  const { snapshot, model, moving, tell, forget, localId } = now;
  const name = model?.name ?? say("pets.unnamed");
  const time = model?.copyAtMs ? dayAndTime(model.copyAtMs, model.zone) : "";
  const parts = moving();
  const retry = { label: say("silent.retry"), run: () => parts.home.retry() };
  const key = snapshot.link;
  const host = hostName(snapshot.host);
  switch (key) {
    case "offline":
      return [{ key, text: say(model ? "silent.offline" : "silent.offline.never", { name, time }), actions: [retry] }];
    case "lost":
      return [
        {
          key,
          text: snapshot.trouble?.code === "other_pet" ? say("trouble.other_pet", { name }) : say(model ? "silent.host" : "silent.host.never", { name, time, host }),
          actions: [retry, ...(model ? [{ label: say("home.recover", { name }), run: () => void recover(parts).catch(tell) }] : [])],
        },
      ];
    case "gone":
      return [
        {
          key,
          text: say("gone.text", { name, host }),
          actions: [
            { label: say("gone.another"), run: () => void parts.household.keepAsAnother(localId).catch(tell) },
            { label: say("gone.export"), run: () => void parts.exportSave().catch(tell) },
            { label: say("bye.forget"), run: forget },
          ],
        },
      ];
    case "paused":
      if (snapshot.move) return [];
      return [
        {
          key,
          calm: true,
          text: say("paused.text", { name, host }),
          actions: [{ label: say("home.resume", { name }), run: () => void letLiveOn(parts).catch(tell) }],
        },
      ];
    case "stopped":
      return [stopped(now, name)];
    default:
      return [];
  }
}

/** Rules that stopped: a local pet can go on from an older copy; one of newer rules only needs their page. */
function stopped({ snapshot, model, moving, tell }: Situation, name: string): Banner {
  const error = firstLine(model?.error ?? "");
  if (/\b(newer_engine|unknown_save_version)\b/.test(error)) return { key: "stopped", text: say("stopped.newer", { name }), actions: [] };
  const back = { label: say("stopped.back"), run: () => void goBack(moving()).catch(tell) };
  return { key: "stopped", text: say("stopped.text", { name, error }), actions: snapshot.kind === "local" ? [back] : [] };
}

/** What the rules did with the clock, until it is read. */
function clocks({ snapshot, model, moving }: Situation): Banner[] {
  const name = model?.name ?? "";
  const time = (atMs: number) => dayAndTime(atMs, model?.zone);
  return snapshot.notices.map(({ kind, fromMs, toMs }) => ({
    key: `notice-${kind}`,
    calm: true,
    text: say(`notice.${kind}`, { name, from: time(fromMs), to: time(toMs) }),
    actions: [],
    close: () => moving().home.noticed(),
  }));
}

/** An engine that did not start leaves a local pet standing still, and says so. */
function loads({ loading, snapshot, moving }: Situation): Banner[] {
  if (snapshot.kind !== "local" || !loading.engine.failed) return [];
  const text = say(`load.engine.${loading.engine.failed}`, {}, say("load.engine.failed"));
  return [{ key: "engine", text, actions: [{ label: say("silent.retry"), run: () => moving().home.retry() }] }];
}

function stuck({ snapshot, moving }: Situation): Banner | null {
  if (!snapshot.pending.some(({ state }) => state === "stuck")) return null;
  return { key: "stuck", text: say("unconfirmed.text"), actions: [{ label: say("talk.stuck.retry"), run: () => moving().home.retry() }] };
}

/** Why it does not think just now. */
function trouble({ snapshot, model, loading, moving }: Situation): Banner | null {
  const { trouble: found } = snapshot;
  // another pet in its place is said where the link is
  if (!found || !model || found.code === "other_pet" || (loading.engine.failed && snapshot.kind === "local")) return null;
  const again = found.retryAtMs === null ? "" : say("trouble.again", { time: clockTime(found.retryAtMs, model.zone) });
  const { name } = model;
  const text = say(`trouble.${found.code}`, { name }, say(`problem.${found.code}`, {}, say("trouble.other", { name })));
  return {
    key: "trouble",
    calm: true,
    text: `${text} ${again}`.trim(),
    actions: [{ label: say("silent.retry"), run: () => moving().home.retry() }],
  };
}

/** A game that waits to be played, an offer that waits for an answer. */
function together({ model, play }: Situation): Banner[] {
  if (!model?.present) return [];
  if (model.game)
    return [{ key: "game", calm: true, text: say("game.ready", { name: model.name }), actions: [{ label: say("game.play"), run: play }] }];
  if (!model.offer || model.thinking) return [];
  return [
    {
      key: "offer",
      calm: true,
      text: say(model.asleep ? "offer.open.asleep" : "offer.open", { name: model.name, item: offerName(model.offer) }),
      actions: [],
    },
  ];
}

function alertsBanner({ alertsOffer, model }: Situation): Banner | null {
  if (!alertsOffer || !model) return null;
  return {
    key: "alerts",
    calm: true,
    text: say("alerts.offer", { name: model.name }),
    actions: [
      { label: say("alerts.yes"), run: alertsOffer.accept },
      { label: say("alerts.no"), run: alertsOffer.decline },
    ],
  };
}

function firstLine(text: string): string {
  return text.split("\n")[0]?.slice(0, 120) ?? "";
}
