import "fake-indexeddb/auto";

import { IDBFactory } from "fake-indexeddb";
import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { Mover } from "../../src/home/mover.ts";
import { HomeProblem } from "../../src/home/problems.ts";
import { Records } from "../../src/home/records.ts";
import { until } from "../until.ts";
import { countingIds, intent, localRow, NOW_MS, PET_ID } from "./fixtures.ts";

/* Real records in an IndexedDB of memory; `fetch` is the border. */

let records: Records;

beforeEach(async () => {
  globalThis.indexedDB = new IDBFactory();
  records = await Records.open(countingIds());
});

afterEach(() => {
  records.close();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
});

test.each(["storage_full", "records_failed"])(
  "an answer that the disk does not take is asked for again under its operation id: %s",
  async (code) => {
    const row = localRow({ intent: intent("activate") });
    await records.change(row.localId, () => ({ row, value: null }));
    const sent: string[] = [];
    vi.stubGlobal("fetch", async (_url: string, { body }: { body: string }) => {
      sent.push((JSON.parse(body) as { operationId: string }).operationId);
      const answer = { operationId: "op-activate", id: PET_ID, status: "active", epoch: 4, revision: 8 };
      return new Response(JSON.stringify(answer), { headers: { "Content-Type": "application/json" } });
    });
    const change = vi.spyOn(records, "change").mockRejectedValueOnce(new HomeProblem(code));
    const mover = new Mover({
      localId: row.localId,
      records,
      ids: countingIds(),
      now: () => NOW_MS,
      inspect: async () => null,
      onRow: () => {},
      onChange: () => {},
      onGone: () => {},
    });
    const run = mover.run();
    await until(() => mover.state()?.problem?.code === code);
    expect(mover.state()?.problem).toMatchObject({ code, lost: true, retryAtMs: NOW_MS + 1000 });
    mover.retry();
    await run;
    expect(sent).toEqual(["op-activate", "op-activate"]);
    expect(change).toHaveBeenCalledTimes(2);
    expect((await records.row(row.localId)).entry).toMatchObject({ intent: null, mode: "remote", epoch: 4 });
    mover.stop();
  },
);
