import { describe, expect, test } from "vitest";

import * as intents from "../../src/home/intents.ts";
import type { Row } from "../../src/home/layout.ts";
import { committed, mayRun, modeOf, newestOf, understood, withNewest } from "../../src/home/layout.ts";
import { HomeProblem, RecordsTooNew, StaleExecution } from "../../src/home/problems.ts";
import {
  RETURNED_MAX,
  wishOf,
  withAddress,
  withGranted,
  withoutWish,
  withSentReturned,
  withWish,
} from "../../src/home/wishes.ts";
import {
  connection,
  countingIds,
  entry,
  HOST,
  intent,
  KEY,
  localRow,
  NOW_MS,
  OTHER_HOST,
  PET_ID,
  row,
  saveOf,
  stop,
} from "./fixtures.ts";

const ids = countingIds();
const codeOf = (act: () => unknown): string => {
  try {
    act();
  } catch (error) {
    return (error as HomeProblem).code;
  }
  return "";
};
const never = row({ entry: null });

describe("a pet that moves out", () => {
  test("for the first time gets an id and a key, and lives on here meanwhile", () => {
    const after = intents.moveOut(never, HOST, ids);
    expect(after.entry).toMatchObject({
      host: HOST,
      epoch: 1,
      mode: "local",
      living: false,
      intent: { step: "prepare", to: "remote" },
    });
    expect(mayRun(after)).toBe(true);
  });

  test("to the host it came from keeps id, key and epoch", () => {
    expect(intents.moveOut(localRow(), HOST, ids).entry).toMatchObject({
      id: PET_ID,
      key: KEY,
      epoch: 3,
      intent: { epoch: 3 },
    });
  });

  test("to another host keeps the old connection, and finds it again on the way back", () => {
    const there = intents.moveOut(localRow(), OTHER_HOST, ids);
    expect(there.entry!.past).toMatchObject([{ host: HOST, id: PET_ID, key: KEY, epoch: 3 }]);
    const back = intents.moveOut({ ...there, entry: { ...there.entry!, intent: null, living: true } }, HOST, ids);
    expect(back.entry).toMatchObject({ id: PET_ID, key: KEY, past: [{ host: OTHER_HOST }] });
  });

  test("as another pet never uses the connection that its host denied", () => {
    const another = intents.asAnother(localRow());
    const after = intents.moveOut(another, HOST, ids);
    expect(after.entry!.id).not.toBe(PET_ID);
    expect(after.entry!.former).toMatchObject([{ id: PET_ID, key: KEY }]);
  });

  test("waits for the stop that its host has yet to hear; another host does not", () => {
    const before = { ...localRow(), stops: [stop()] };
    expect(codeOf(() => intents.moveOut(before, HOST, ids))).toBe("stop_pending");
    expect(intents.moveOut(before, OTHER_HOST, ids).entry!.host).toBe(OTHER_HOST);
  });
});

test.each(["prepare", "activate", "park", "resume", "key", "delete"] as const)(
  "nothing else begins while a %s is under way",
  (step) => {
    const busy = row({ entry: entry({ intent: intent(step) }) });
    for (const act of [
      () => intents.moveOut(busy, HOST, ids),
      () => intents.comeHome(busy, ids),
      () => intents.resumeThere(busy, false, ids),
      () => intents.changeKey(busy, ids),
    ])
      expect(codeOf(act)).toBe("busy");
  },
);

describe("the executor of this page", () => {
  test.each([
    ["a pet of its own", never, true],
    ["one that came home", localRow(), true],
    ["one that is preparing", localRow({ intent: intent("prepare") }), true],
    ["one that is activating", localRow({ intent: intent("activate") }), false],
    ["one that is being deleted", localRow({ intent: intent("delete") }), false],
    ["one on a host", row(), false],
    ["one that is coming home", row({ entry: entry({ intent: intent("park") }) }), false],
    ["one without a copy", row({ kept: null }), false],
  ])("and %s", (_, one, runs) => {
    expect(mayRun(one)).toBe(runs);
  });

  test("commits on the revision that it read, and no other", () => {
    const after = committed(localRow(), { read: 7, save: saveOf("later"), nowMs: NOW_MS + 1 });
    expect(newestOf(after)).toEqual({ atMs: NOW_MS + 1, epoch: 3, revision: 8, save: saveOf("later") });
    expect(after.entry!.checkpointRevision).toBe(8);
    expect(() => committed(after, { read: 7, save: saveOf("late"), nowMs: NOW_MS })).toThrow(StaleExecution);
    expect(() =>
      committed(localRow({ intent: intent("activate") }), { read: 7, save: saveOf("late"), nowMs: NOW_MS }),
    ).toThrow(StaleExecution);
    expect(() => committed(row(), { read: 7, save: saveOf("late"), nowMs: NOW_MS })).toThrow(StaleExecution);
  });
});

describe("a pet of the plain page", () => {
  const plain = (step: Parameters<typeof intent>[0] | null) => {
    const { mode: _, living: __, ...old } = entry({ intent: step && intent(step) });
    return row({ entry: old });
  };

  test.each([
    [null, "remote"],
    ["prepare", "local"],
    ["activate", "local"],
    ["resume", "remote"],
    ["park", "remote"],
    ["delete", "remote"],
  ] as const)("with intent %s is %s", (step, mode) => {
    expect(modeOf(plain(step))).toBe(mode);
  });
});

describe("a recovery", () => {
  test.each([
    ["of a pet on a host", row(), 3],
    ["during a parking", row({ entry: entry({ intent: intent("park", { epoch: 4 }) }) }), 4],
    ["from an activation", localRow({ intent: intent("activate", { epoch: 6 }) }), 6],
  ])("%s lives on here and queues the stop in one step", (_, before, epoch) => {
    const after = intents.recover(before, ids, NOW_MS);
    expect([mayRun(after), after.entry!.intent]).toEqual([true, null]);
    expect(after.stops).toMatchObject([{ host: HOST, id: PET_ID, key: KEY, epoch, kind: "park", sinceMs: NOW_MS }]);
    expect(after.kept).toEqual(before.kept);
  });

  test("during a key change remembers both keys for the stop", () => {
    const before = row({ entry: entry({ intent: intent("key", { newKey: "new" }) }) });
    expect(intents.recover(before, ids, NOW_MS).stops).toMatchObject([{ key: KEY, otherKey: "new" }]);
  });

  test.each([
    ["that lives here", localRow()],
    ["that is only being prepared", localRow({ intent: intent("prepare") })],
    ["that never was on a host", never],
  ])("of a pet %s is refused", (_, before) => {
    expect(codeOf(() => intents.recover(before, ids, NOW_MS))).not.toBe("");
  });
});

describe("a recovery from a copy", () => {
  const copies = [9, 8, 7].map((revision) => {
    return { atMs: NOW_MS - (9 - revision) * 60_000, epoch: 3, revision, save: saveOf(String(revision)) };
  });
  const before = row({ kept: { v: 1, checkpoints: copies } });
  const marks = (found: Row) => found.kept!.checkpoints.map(({ save }) => save.mark);

  test("that is older goes on from that one, and keeps the others behind it", () => {
    const after = intents.recover(before, ids, NOW_MS, { atMs: NOW_MS - 60_000, revision: 8 });
    expect(marks(after)).toEqual(["8", "9", "7"]);
    expect(newestOf(after)).toMatchObject({ epoch: 3, revision: 10 });
    expect(after.entry).toMatchObject({ mode: "local", checkpointRevision: 10 });
    expect(after.stops).toHaveLength(1);
  });

  test("that is the newest changes no copy", () => {
    expect(intents.recover(before, ids, NOW_MS, { atMs: NOW_MS, revision: 9 }).kept).toEqual(before.kept);
  });

  test.each([
    [{ atMs: NOW_MS, revision: 8 }],
    [{ atMs: 0, revision: 9 }],
  ])("that is not there is refused: %o", (from) => {
    expect(codeOf(() => intents.recover(before, ids, NOW_MS, from))).toBe("no_checkpoint");
  });

  test("is for a stopped pet of this page, too, and not for one on a host or on its way", () => {
    const here = { ...before, entry: null };
    expect(marks(intents.goBack(here, { atMs: NOW_MS - 120_000, revision: 7 }))).toEqual(["7", "9", "8"]);
    expect(codeOf(() => intents.goBack(before, copies[1]!))).toBe("not_local");
    expect(codeOf(() => intents.goBack({ ...before, ...localRow({ intent: intent("activate") }) }, copies[1]!))).toBe("busy");
  });
});

describe("words that were under way", () => {
  const say = (text: string) => ({ kind: "say", text }) as const;
  const said = (operationId: string) => wishOf(say(operationId), operationId, connection());
  const washed = wishOf({ kind: "care", action: "wash" }, "wash", connection());
  const waiting = wishOf(say("not sent"), "not sent", null);
  const before = row({ outbox: { v: 1, wishes: [said("a"), washed, waiting, said("b")] } });

  test.each([
    ["a recovery", (one: Row) => intents.recover(one, ids, NOW_MS)],
    ["a copy that goes on as another pet", intents.asAnother],
  ])("to a host go back to their owner in %s; what was sent nowhere waits for who runs the pet", (_, act) => {
    const { outbox } = act(before);
    expect(outbox!.returned).toEqual([
      { operationId: "a", command: say("a") },
      { operationId: "b", command: say("b") },
    ]);
    expect(outbox!.wishes).toEqual([waiting]);
  });

  test("are said again in one step, or let go", () => {
    const back = withSentReturned(row({ outbox: { v: 1, wishes: [said("a")] } }));
    const again = withWish(back, wishOf(say("a"), "c", null), "a");
    expect(again.outbox).toEqual({ v: 1, wishes: [wishOf(say("a"), "c", null)] });
    expect(withoutWish(back, "a").outbox).toBeNull();
  });

  test("are kept up to a bound, the newest of them", () => {
    const many = Array.from({ length: RETURNED_MAX + 4 }, (_, at) => said(`w${at}`));
    const { outbox } = withSentReturned(row({ outbox: { v: 1, wishes: many } }));
    expect([outbox!.returned!.length, outbox!.returned!.at(-1)!.operationId]).toEqual([RETURNED_MAX, "w19"]);
  });

  test("are addressed once, where the pet lives when they are sent", () => {
    const here = row({ outbox: { v: 1, wishes: [waiting] } });
    const sent = withAddress(here, "not sent", connection({ epoch: 5 }));
    expect(sent.outbox!.wishes).toMatchObject([{ host: HOST, id: PET_ID, epoch: 5, operationId: "not sent" }]);
    expect(withAddress(sent, "not sent", connection({ epoch: 6 })).outbox!.wishes).toMatchObject([{ epoch: 5 }]);
    const home = { ...localRow(), outbox: here.outbox };
    expect(codeOf(() => withAddress(home, "not sent", connection()))).toBe("not_running");
    const moving = row({ entry: entry({ intent: intent("park") }), outbox: here.outbox });
    expect(codeOf(() => withAddress(moving, "not sent", connection()))).toBe("not_running");
  });

  test("are granted once", () => {
    const here = { ...localRow(), outbox: { v: 1 as const, wishes: [waiting] } };
    const done = withGranted(here, "not sent");
    expect(done.outbox).toBeNull();
    expect(codeOf(() => withGranted(done, "not sent"))).toBe("wish_gone");
  });
});

describe("giving a move up", () => {
  test.each(["prepare", "park", "resume"] as const)("is safe during a %s", (step) => {
    const before =
      step === "prepare" ? localRow({ intent: intent(step) }) : row({ entry: entry({ intent: intent(step) }) });
    expect(intents.abandon(before).entry!.intent).toBeNull();
    expect(modeOf(intents.abandon(before))).toBe(modeOf(before));
  });

  test.each(["activate", "key", "delete"] as const)("is refused during a %s", (step) => {
    expect(codeOf(() => intents.abandon(localRow({ intent: intent(step) })))).toBe("not_safe");
  });
});

describe("a deletion", () => {
  test("of a pet that never left is done at once", () => {
    expect(intents.deleteEverywhere(never, ids)).toMatchObject({ kept: null, entry: null });
  });

  test("turns the stops of that pet, and of no other, into deletions", () => {
    const before = { ...localRow(), stops: [stop(), stop({ stopId: "b", localId: "pap" })] };
    const after = intents.deleteEverywhere(before, ids);
    expect(after.stops.map(({ kind }) => kind)).toEqual(["delete", "park"]);
    expect(after.entry!.intent).toMatchObject({ to: null, step: "delete" });
  });

  test("of a copy that goes on as another pet deletes what is parked elsewhere", () => {
    const past = [{ host: OTHER_HOST, id: "other", key: "k", epoch: 2 }];
    const another = intents.asAnother(localRow({ past }));
    expect(intents.deleteEverywhere(another, ids).entry).toMatchObject({
      host: OTHER_HOST,
      id: "other",
      intent: { step: "delete" },
    });
  });
});

test("three checkpoints reach back an hour and more, however often one is written", () => {
  let kept = row();
  for (let minute = 1; minute <= 180; minute += 1)
    kept = withNewest(kept, {
      atMs: NOW_MS + minute * 60_000,
      epoch: 3,
      revision: 7 + minute,
      save: saveOf(String(minute)),
    });
  const [newest, , oldest] = kept.kept!.checkpoints;
  expect(newest!.save.mark).toBe("180");
  expect(kept.kept!.checkpoints).toHaveLength(3);
  expect(newest!.atMs - oldest!.atMs).toBeGreaterThanOrEqual(60 * 60_000);
});

test("a record of a newer kind is refused", () => {
  expect(() => understood("subtokenling.v1", { v: 2 })).toThrow(RecordsTooNew);
  expect(understood("subtokenling.v1", undefined)).toBeUndefined();
});
