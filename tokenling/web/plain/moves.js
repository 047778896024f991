/* Moves of a pet between this browser's copy and the host, each a row of steps that survives a reload at any point.

   Before a request leaves, its intent (operation id, epoch) is on disk; after its answer, the outcome is. So a lost
   answer is mended by doing the stored step again: the host answers a repeated prepare with the actual status and a
   repeated operation id with its kept answer. `settle` goes on until no intent is left. The steps:

     prepare -> activate -> (none)     a newborn or an imported save moves in
     resume  -> (none)                 a parked pet goes on living at the host
     park    -> (none)                 the host stops; its latest save becomes the newest checkpoint
     delete  -> (the pet is forgotten) */

import { HostProblem, PetHost, newKey, newUuid } from "./api.js";

/** prepare, activate, and once more each after a prepared record had expired; more would be going in circles. */
const STEPS_MAX = 6;
/** One tab moves pets at a time. The later app holds this same lock while it runs pets. */
const MOVES_LOCK = "tokenling.v1";
const LOCK_WAIT_MS = 20_000;

const STEPS = { prepare, activate, resume, park, delete: remove };

/** Stores a pet that is to move in, with its save as first checkpoint; returns its local id. Nothing is sent yet. */
export async function plan(records, host, save) {
  const localId = newUuid();
  const intent = intentTo("remote", "prepare", 1);
  const entry = { host, id: newUuid(), key: newKey(), epoch: 1, intent, checkpointRevision: 0 };
  await records.setPet(localId, entry, { atMs: Date.now(), epoch: 0, revision: 0, save });
  return localId;
}

export function intendPark(records, localId, epoch) {
  return records.updatePet(localId, { intent: intentTo("local", "park", epoch) });
}

export function intendResume(records, localId, epoch) {
  return records.updatePet(localId, { intent: intentTo("remote", "resume", epoch) });
}

export function intendDelete(records, localId, epoch) {
  return records.updatePet(localId, { intent: intentTo(null, "delete", epoch) });
}

/** Drops an intent that the owner gives up. Only for a pet that the host refused or that is parked there anyway. */
export function abandon(records, localId) {
  return records.updatePet(localId, { intent: null });
}

/** Does the stored steps of one pet until none is left; returns its entry, or null when it is gone.

    Throws `HostProblem`: with `lost` the stored step may be repeated at any time, else the owner has to decide. */
export function settle(records, localId, choices = {}) {
  return withLock(async () => {
    for (let taken = 0; taken < STEPS_MAX; taken += 1) {
      const remote = await records.remote();
      const entry = remote.pets[localId];
      if (!entry?.intent) return entry ?? null;
      const step = STEPS[entry.intent.step];
      if (!step) throw new HostProblem("unknown_intent", { status: 409 });
      await step({ records, localId, entry, deviceId: remote.deviceId, host: new PetHost(entry), choices });
    }
    throw new HostProblem("unsettled", { status: 409 });
  });
}

async function prepare({ records, localId, entry, host, choices }) {
  const prepared = await host.prepare(await newestSave(records, localId), choices.enrolCode);
  const waits = prepared.status === "prepared";
  const intent = waits ? { ...entry.intent, step: "activate", epoch: prepared.epoch } : null;
  await records.updatePet(localId, { epoch: prepared.epoch, intent });
}

async function activate(move) {
  const { records, localId, entry } = move;
  try {
    await transferRemote(move);
  } catch (problem) {
    // a prepared record lives 24 h: an older one is gone, and preparing again overwrites nothing
    if (problem.code !== "not_found") throw problem;
    await records.updatePet(localId, { intent: intentTo("remote", "prepare", entry.epoch) });
  }
}

function resume(move) {
  return transferRemote(move);
}

async function transferRemote({ records, localId, entry, deviceId, host, choices }) {
  const { operationId, epoch } = entry.intent;
  const save = await newestSave(records, localId);
  const takeover = choices.takeover ? { takeover: true } : {};
  try {
    const record = await host.transfer({ to: "remote", operationId, epoch, deviceId, save, ...takeover });
    await records.updatePet(localId, { epoch: record.epoch, intent: null });
  } catch (problem) {
    await settleElsewhere(problem, { records, localId, host });
  }
}

async function park({ records, localId, entry, deviceId, host }) {
  const { operationId, epoch } = entry.intent;
  try {
    const record = await host.transfer({ to: "local", operationId, epoch, deviceId });
    await records.updatePet(localId, { intent: null, ...checkpointed(record) }, checkpointOf(record));
  } catch (problem) {
    await settleElsewhere(problem, { records, localId, host });
  }
}

async function remove({ records, localId, host }) {
  await host.remove();
  await records.forgetPet(localId);
}

/** The pet has moved on without this page (another device, a repeated step): what the host says now is how it is. */
async function settleElsewhere(problem, { records, localId, host }) {
  if (problem.code !== "stale_epoch" && problem.code !== "not_active") throw problem;
  const { view } = await host.view();
  if (view.status === "prepared") throw problem;
  await records.updatePet(localId, { epoch: view.epoch, intent: null });
}

/** What a view or a parked record adds to the stored entry; the checkpoint itself goes in the same transaction. */
export function checkpointed(record) {
  return { epoch: record.epoch, checkpointRevision: record.revision };
}

export function checkpointOf(record) {
  return { atMs: record.serverTime ?? Date.now(), epoch: record.epoch, revision: record.revision, save: record.save };
}

async function newestSave(records, localId) {
  const [newest] = await records.checkpoints(localId);
  if (!newest) throw new HostProblem("no_checkpoint", { status: 409 });
  return newest.save;
}

function intentTo(to, step, epoch) {
  return { to, step, operationId: newUuid(), epoch };
}

async function withLock(work) {
  if (!navigator.locks) return work();
  const signal = AbortSignal.timeout(LOCK_WAIT_MS);
  try {
    return await navigator.locks.request(MOVES_LOCK, { signal }, work);
  } catch (error) {
    if (error?.name === "TimeoutError" || error?.name === "AbortError") throw new HostProblem("other_tab");
    throw error;
  }
}
