import { describe, expect, test } from "vitest";

import * as intents from "../../src/home/intents.ts";
import { committed, mayRun, modeOf, newestOf, understood, withNewest } from "../../src/home/layout.ts";
import { HomeProblem, RecordsTooNew, StaleExecution } from "../../src/home/problems.ts";
import {
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
