import { describe, expect, test } from "vitest";

import type { Answer, Conclusion, MoveRequest } from "../../src/home/conclusions.ts";
import {
  ageOf,
  conclude,
  lookedAround,
  questionResolved,
  requestOf,
  snapshotTaken,
  stopAnswered,
  stopResolved,
} from "../../src/home/conclusions.ts";
import { mayRun, modeOf, newestOf, type Row } from "../../src/home/layout.ts";
import {
  answer,
  connection,
  countingIds,
  entry,
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

const means = () => ({ ids: countingIds(), nowMs: NOW_MS });

function concluded(before: Row, given: Answer, request: MoveRequest | null = requestOf(before)): Conclusion {
  return conclude(before, before.entry!.intent!, request!, given, means());
}

const told = { kind: "two_places" as const, toldEpoch: 5, otherDevice: false };

describe("a preparation", () => {
  const preparing = () => localRow({ intent: intent("prepare") });

  test.each([
    ["created", answer(201, { epoch: 3, petStatus: "prepared" })],
    ["repeated", answer(200, { epoch: 3, petStatus: "prepared" })],
    ["found parked", answer(200, { epoch: 4, petStatus: "parked" })],
  ])("that is %s stores the activation, which stops the local executor", (_, given) => {
    const { row: after, then } = concluded(preparing(), given);
    expect(then).toEqual({ kind: "next" });
    expect(after.entry!.intent).toMatchObject({ step: "activate", epoch: given.epoch });
    expect([mayRun(preparing()), mayRun(after)]).toEqual([true, false]);
  });

  test("that finds the pet living there asks which copy to keep", () => {
    const { row: after, then } = concluded(preparing(), answer(200, { epoch: 5, petStatus: "active" }));
    expect(then).toEqual({ kind: "question", question: told });
    expect(mayRun(after)).toBe(true);
  });

  test.each([
    ["another key's", answer(409, { code: "id_taken" })],
    ["deleted", answer(410, { code: "pet_deleted" })],
    ["forgotten", answer(201, { epoch: 1, petStatus: "prepared" })],
  ])("of a pet that is %s there asks whether the copy goes on as another", (_, given) => {
    expect(concluded(preparing(), given).then).toMatchObject({ kind: "question", question: { kind: "lost" } });
  });

  test("that finds it quarantined stops that copy and goes on here", () => {
    const { row: after, then } = concluded(preparing(), answer(200, { epoch: 4, petStatus: "quarantined" }));
    expect(then).toEqual({ kind: "settled" });
    expect(after.stops).toMatchObject([{ kind: "park", epoch: 4, id: PET_ID, key: KEY }]);
    expect(mayRun(after)).toBe(true);
  });

  test.each(["brain_mismatch", "host_full", "enrol_required", "enrol_wrong", "invalid_save"])(
    "refused with %s leaves the pet living here",
    (code) => {
      const { row: after, then } = concluded(preparing(), answer(409, { code }));
      expect(then).toMatchObject({ kind: "problem", code });
      expect(after.entry!.intent).toEqual(intent("prepare"));
      expect(mayRun(after)).toBe(true);
    },
  );
});

describe("an activation", () => {
  const activating = () => localRow({ intent: intent("activate") });

  test("that succeeded makes the host the home and stamps the copy with the host's word", () => {
    const { row: after, then } = concluded(activating(), answer(200, { epoch: 3, revision: 2, petStatus: "active" }));
    expect(then).toEqual({ kind: "settled" });
    expect([modeOf(after), after.entry!.intent]).toEqual(["remote", null]);
    expect(newestOf(after)).toMatchObject({ epoch: 3, revision: 2, save: saveOf("newest") });
  });

  test("of an expired record prepares again and keeps its operation id", () => {
    const { row: after, then } = concluded(activating(), answer(404, { code: "not_found" }));
    expect(then).toEqual({ kind: "ask", request: { kind: "prepare", save: saveOf("newest") } });
    expect(after.entry!.intent).toEqual(intent("activate"));
    const again = concluded(after, answer(201, { epoch: 3, petStatus: "prepared" }), {
      kind: "prepare",
      save: saveOf("newest"),
    });
    expect(again.then).toEqual({ kind: "next" });
    expect(requestOf(again.row)).toMatchObject({ kind: "transfer", to: "remote", operationId: "op-activate" });
  });

  test("prepared again under a younger epoch means that the host forgot the pet", () => {
    const { then } = concluded(activating(), answer(201, { epoch: 1 }), { kind: "prepare", save: saveOf("newest") });
    expect(then).toMatchObject({ question: { kind: "lost" } });
  });

  test.each([
    [
      "already_active",
      answer(409, { code: "already_active", epoch: 5, petStatus: "active" }),
      { kind: "question", question: told },
    ],
    [
      "stale and active",
      answer(409, { code: "stale_epoch", epoch: 5, petStatus: "active" }),
      { kind: "question", question: told },
    ],
    [
      "another device's",
      answer(409, { code: "other_device", petStatus: "parked" }),
      { kind: "question", question: { kind: "two_places", toldEpoch: 3, otherDevice: true } },
    ],
    [
      "behind",
      answer(409, { code: "stale_epoch", epoch: 2, petStatus: "prepared" }),
      { kind: "question", question: { kind: "lost", toldEpoch: 0, otherDevice: false } },
    ],
    [
      "ahead, parked",
      answer(409, { code: "stale_epoch", epoch: 5, petStatus: "parked" }),
      { kind: "ask", request: { kind: "view", key: KEY } },
    ],
    ["quarantined", answer(409, { code: "quarantined" }), { kind: "problem", code: "quarantined", fields: {} }],
    ["full", answer(409, { code: "epoch_full" }), { kind: "problem", code: "epoch_full", fields: {} }],
  ])("refused because it is %s is never given up by itself", (_, given, then) => {
    const after = concluded(activating(), given);
    expect(after.then).toEqual(then);
    expect(after.row.entry!.intent).toEqual(intent("activate"));
    expect(mayRun(after.row)).toBe(false);
  });

  test("looked into finds the pet gone on under another epoch", () => {
    const { then } = concluded(activating(), answer(200, { epoch: 5, petStatus: "parked" }), {
      kind: "view",
      key: KEY,
    });
    expect(then).toEqual({ kind: "question", question: told });
  });
});

describe("a parking", () => {
  const parking = () => row({ entry: entry({ intent: intent("park") }) });

  test("brings the save home, in one step with the mode", () => {
    const given = answer(200, { epoch: 4, revision: 9, petStatus: "parked", save: saveOf("parked") });
    const { row: after, then } = concluded(parking(), given);
    expect(then).toEqual({ kind: "settled" });
    expect([modeOf(after), after.entry!.intent, after.entry!.epoch]).toEqual(["local", null, 4]);
    expect(newestOf(after)).toMatchObject({ epoch: 4, revision: 9, save: saveOf("parked") });
    expect(mayRun(after)).toBe(true);
  });

  test("notes where the receipts of what it said there are still to be had", () => {
    const given = answer(200, { epoch: 4, revision: 9, petStatus: "parked", save: saveOf("parked") });
    expect(concluded(parking(), given).row.entry!.turnsDue).toEqual(connection());
  });

  test.each(["other_pet", "save_newer", "save_refused"])("with a save that is %s takes nothing and goes on later", (saveProblem) => {
    const given = answer(200, { epoch: 4, revision: 9, petStatus: "parked", save: saveOf("bad"), saveProblem });
    const { row: after, then } = concluded(parking(), given);
    expect(after).toEqual(parking());
    expect(then).toEqual({ kind: "problem", code: saveProblem, fields: {} });
  });

  test("answered without the save leaves the pet where it is", () => {
    const { row: after } = concluded(parking(), answer(200, { epoch: 4, revision: 9 }));
    expect([modeOf(after), after.entry!.intent]).toEqual(["remote", null]);
  });

  test.each([
    ["other_device", 409, "problem"],
    ["stale_epoch", 409, "problem"],
    ["not_found", 404, "gone"],
  ])("refused with %s ends the intent and keeps key and copy", (code, status, kind) => {
    const { row: after, then } = concluded(parking(), answer(status, { code }));
    expect(then.kind).toBe(kind);
    expect(after.entry).toMatchObject({ intent: null, key: KEY, mode: "remote" });
    expect(newestOf(after)!.save).toEqual(saveOf("newest"));
  });
});

describe("a resumption", () => {
  const resuming = () => row({ entry: entry({ intent: intent("resume", { takeover: true }) }) });

  test("says that it takes over, each time", () => {
    expect(requestOf(resuming())).toMatchObject({ to: "remote", takeover: true, operationId: "op-resume" });
  });

  test.each([
    [200, "settled"],
    [404, "gone"],
    [409, "problem"],
  ])("answered with %d ends its intent", (status, kind) => {
    const { row: after, then } = concluded(resuming(), answer(status, { epoch: 3, revision: 8, code: "other_device" }));
    expect([then.kind, after.entry!.intent, modeOf(after)]).toEqual([kind, null, "remote"]);
  });

  test("keeps its upload while snapshots come in, or a repeat would be another body", () => {
    const view = { atMs: NOW_MS, epoch: 3, revision: 9, save: saveOf("later") };
    expect(requestOf(snapshotTaken(resuming(), view, "newer"))).toEqual(requestOf(resuming()));
  });
});

describe("a changed key", () => {
  const rekeying = () => row({ entry: entry({ intent: intent("key", { newKey: "new" }) }) });

  test("is kept when the host says so", () => {
    expect(concluded(rekeying(), answer(200)).row.entry).toMatchObject({ key: "new", intent: null });
  });

  test("whose answer was lost is found out with the new key", () => {
    const { row: after, then } = concluded(rekeying(), answer(404, { code: "not_found" }));
    expect(then).toEqual({ kind: "ask", request: { kind: "view", key: "new" } });
    expect(after.entry!.key).toBe(KEY);
    expect(concluded(after, answer(200), { kind: "view", key: "new" }).row.entry).toMatchObject({
      key: "new",
      intent: null,
    });
    const neither = concluded(after, answer(404), { kind: "view", key: "new" });
    expect([neither.row.entry!.key, neither.row.entry!.intent, neither.then.kind]).toEqual([KEY, null, "gone"]);
  });

  test("refused leaves the old one", () => {
    expect(concluded(rekeying(), answer(409, { code: "stale_epoch" })).row.entry).toMatchObject({
      key: KEY,
      intent: null,
    });
  });
});

describe("a deletion", () => {
  const deleting = (change = {}) => row({ entry: entry({ intent: intent("delete"), ...change }) });

  test.each([204, 404, 410])("answered with %d takes the pet out", (status) => {
    expect(concluded(deleting(), answer(status)).row).toMatchObject({ kept: null, entry: null });
  });

  test("goes on at the hosts where the pet is parked", () => {
    const past = [{ host: OTHER_HOST, id: "other", key: "k", epoch: 2 }];
    const { row: after, then } = concluded(deleting({ past }), answer(204));
    expect(then).toEqual({ kind: "next" });
    expect(after.entry).toMatchObject({ host: OTHER_HOST, id: "other", past: [], intent: { step: "delete" } });
    expect(after.kept).not.toBeNull();
  });

  test("that meets a refusal keeps everything", () => {
    const { row: after, then } = concluded(deleting(), answer(401, { code: "unauthorized" }));
    expect([then.kind, after]).toEqual(["problem", deleting()]);
  });

  test("begun during a key change tries both keys", () => {
    const before = deleting({ intent: intent("delete", { newKey: "new" }) });
    const { then } = concluded(before, answer(404));
    expect(then).toEqual({ kind: "ask", request: { kind: "delete", key: "new" } });
    expect(concluded(before, answer(404), { kind: "delete", key: "new" }).row.entry).toBeNull();
  });
});

test("an answer to an intent that is no longer stored concludes nothing", () => {
  const before = row({ entry: entry({ intent: intent("park") }) });
  const older = intent("park", { operationId: "older" });
  const given = answer(200, { epoch: 4, save: saveOf("old") });
  expect(conclude(before, older, requestOf(before)!, given, means())).toEqual({ row: before, then: { kind: "next" } });
  const none = row();
  expect(conclude(none, older, requestOf(before)!, given, means())).toEqual({ row: none, then: { kind: "settled" } });
});

describe("snapshots", () => {
  test.each([
    [{ epoch: 3, revision: 8 }, true, "newer"],
    [{ epoch: 4, revision: 1 }, true, "newer"],
    [{ epoch: 3, revision: 7 }, true, "same"],
    [{ epoch: 3, revision: 6 }, false, "older"],
    [{ epoch: 2, revision: 99 }, false, "older"],
    [{ epoch: 1, revision: 1 }, true, "back"],
  ] as const)("%j asked for after the newest was here: %s, is %s", (view, after, age) => {
    expect(ageOf({ epoch: 3, revision: 7 }, view, after)).toBe(age);
  });

  test("of a pet that lives here by now change nothing", () => {
    const view = { atMs: NOW_MS, epoch: 9, revision: 9, save: saveOf("host's") };
    expect(snapshotTaken(localRow(), view, "newer")).toEqual(localRow());
  });

  test.each(["newer", "back"] as const)("of another pet never become the copy, however they stand: %s", (age) => {
    const held = row({ kept: { v: 1, checkpoints: [{ ...newestOf(row())!, save: { ...saveOf("own"), petSeed: "a" } }] } });
    const view = { atMs: NOW_MS, epoch: 9, revision: 9, save: { ...saveOf("other"), petSeed: "b" } };
    expect(snapshotTaken(held, view, age)).toEqual(held);
  });

  test("of a host that went back keep the newer copy behind", () => {
    const view = { atMs: NOW_MS, epoch: 1, revision: 1, save: saveOf("backup") };
    const after = snapshotTaken(row(), view, "back");
    expect(after.kept!.checkpoints.map(({ save }) => save)).toEqual([saveOf("backup"), saveOf("newest")]);
  });
});

describe("a look around", () => {
  test.each([
    ["active elsewhere", answer(200, { epoch: 4, petStatus: "active" }), 4],
    ["parked under a later epoch", answer(200, { epoch: 5, petStatus: "parked" }), 5],
    ["active under our own", answer(200, { epoch: 3, petStatus: "active" }), 3],
  ])("finds the pet %s", (_, given, epoch) => {
    expect(lookedAround(localRow(), given)).toEqual({ kind: "two_places", toldEpoch: epoch, otherDevice: false });
  });

  test.each([
    ["parked as we left it", answer(200, { epoch: 3, petStatus: "parked" })],
    ["gone", answer(404)],
  ])("finds the pet %s and asks nothing", (_, given) => {
    expect(lookedAround(localRow(), given)).toBeNull();
  });

  test("asks nothing while a stop is on its way", () => {
    const before = { ...localRow(), stops: [stop()] };
    expect(lookedAround(before, answer(200, { epoch: 4, petStatus: "active" }))).toBeNull();
  });
});

describe("a stop", () => {
  const recovered = () => ({ ...localRow(), stops: [stop()] });

  test("delivered brings the epoch, and never the host's save", () => {
    const given = answer(200, { epoch: 4, save: saveOf("host's") });
    const { row: after, then } = stopAnswered(recovered(), stop(), given, means());
    expect([then.kind, after.stops, after.entry!.epoch]).toEqual(["delivered", [], 4]);
    expect(after.kept).toEqual(recovered().kept);
  });

  test.each([404, 410])("answered with %d makes the copy another pet; the key is kept aside", (status) => {
    const { row: after } = stopAnswered(recovered(), stop(), answer(status), means());
    expect(after.entry).toMatchObject({ id: "", key: "", mode: "local", former: [{ id: PET_ID, key: KEY }] });
    expect(after.kept).toEqual(recovered().kept);
    expect(mayRun(after)).toBe(true);
  });

  test("refused because the pet lives there asks its owner and stays", () => {
    const { row: after, then } = stopAnswered(
      recovered(),
      stop(),
      answer(409, { code: "stale_epoch", epoch: 5, petStatus: "active" }),
      means(),
    );
    expect(then).toEqual({ kind: "asks", told });
    expect(after).toEqual(recovered());
  });

  test("refused under another epoch is repeated with the epoch that was told", () => {
    const { row: after, then } = stopAnswered(
      recovered(),
      stop(),
      answer(409, { code: "stale_epoch", epoch: 5, petStatus: "parked" }),
      means(),
    );
    expect(then.kind).toBe("again");
    expect(after.stops).toMatchObject([{ stopId: "stop", epoch: 5 }]);
    expect(after.stops[0]!.operationId).not.toBe("op-stop");
  });

  test("of a pet that was deleted here and lives there is dropped", () => {
    const left = { ...recovered(), kept: null, entry: null };
    const { row: after, then } = stopAnswered(
      left,
      stop(),
      answer(409, { code: "stale_epoch", epoch: 5, petStatus: "active" }),
      means(),
    );
    expect([then.kind, after.stops]).toEqual(["delivered", []]);
  });

  test("during a key change is tried with the other key before the pet counts as gone", () => {
    const before = { ...localRow(), stops: [stop({ otherKey: "new" })] };
    const { row: after, then } = stopAnswered(before, before.stops[0]!, answer(404), means());
    expect([then.kind, after.stops[0]!.key, after.stops[0]!.otherKey, after.entry!.key]).toEqual([
      "again",
      "new",
      undefined,
      "new",
    ]);
    expect(after.entry!.id).toBe(PET_ID);
  });

  test("of an old host does not touch a pet that moved on to another", () => {
    const elsewhere = { ...row({ entry: entry({ host: OTHER_HOST, id: "other" }) }), stops: [stop()] };
    const { row: after } = stopAnswered(elsewhere, stop(), answer(200, { epoch: 4, save: saveOf("host's") }), means());
    expect([after.entry, after.stops]).toEqual([elsewhere.entry, []]);
    const lives = stopAnswered(
      elsewhere,
      stop(),
      answer(409, { code: "stale_epoch", epoch: 5, petStatus: "active" }),
      means(),
    );
    expect(lives.then.kind).toBe("asks");
  });

  test("resolved for here is repeated with the told epoch", () => {
    const after = stopResolved(recovered(), stop(), "here", told, means());
    expect(after.stops).toMatchObject([{ stopId: "stop", epoch: 5 }]);
    expect(mayRun(after)).toBe(true);
  });

  test("resolved for there follows the host and keeps what was lived here behind", () => {
    const after = stopResolved(recovered(), stop(), "there", told, means());
    expect([modeOf(after), after.stops]).toEqual(["remote", []]);
    expect(newestOf(after)).toMatchObject({ epoch: 0, revision: 0 });
    expect(after.kept!.checkpoints[1]).toMatchObject({ epoch: 3, revision: 7, save: saveOf("newest") });
  });

  test("resolved for an old host stops the one where the pet lives now", () => {
    const elsewhere = { ...row({ entry: entry({ host: OTHER_HOST, id: "other", epoch: 8 }) }), stops: [stop()] };
    const after = stopResolved(elsewhere, stop(), "there", told, means());
    expect(after.entry).toMatchObject({ id: PET_ID, mode: "remote" });
    expect(after.stops).toMatchObject([{ host: OTHER_HOST, id: "other", epoch: 8, kind: "park" }]);
  });
});

describe("a question answered", () => {
  test("for here stops the host's copy under the epoch that was told", () => {
    const after = questionResolved(localRow({ intent: intent("activate") }), told, "here", means());
    expect([after.entry!.intent, after.stops[0]!.epoch, mayRun(after)]).toEqual([null, 5, true]);
  });

  test("for here, against another device's copy, makes this one another pet", () => {
    const after = questionResolved(
      localRow({ intent: intent("activate") }),
      { ...told, otherDevice: true },
      "here",
      means(),
    );
    expect([after.entry!.id, after.stops, mayRun(after)]).toEqual(["", [], true]);
  });

  test("as another, after the host forgot it, makes the copy a pet of its own", () => {
    const after = questionResolved(
      localRow({ intent: intent("activate") }),
      { kind: "lost", toldEpoch: 0, otherDevice: false },
      "another",
      means(),
    );
    expect([after.entry!.id, after.entry!.former![0]!.key, mayRun(after)]).toEqual(["", KEY, true]);
  });
});
