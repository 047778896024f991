/* What this browser remembers of its pets. docs/page.md describes the layout; the later app reads the same records.

   Database `subtokenling`, version 1:
     object store `records`           out-of-line keys; `subtokenling.remote.v1` is one record in it
     object store `subtokenling.v1`   out-of-line keys, the local id; one pet's recovery checkpoints each

   Every change reads, decides and writes inside one strict transaction, so two tabs cannot undo each other's work and
   an answered write is on disk. The functions that decide are pure and exported for their tests. */

const DATABASE = "subtokenling";
const DATABASE_VERSION = 1;
const RECORDS = "records";
const CHECKPOINTS = "subtokenling.v1";
const REMOTE = "subtokenling.remote.v1";
const PAGE = "subtokenling.page.v1";

/** The save and two older ones (design: recovery checkpoints). */
const CHECKPOINTS_MAX = 3;
/** A newer save takes the newest's place until the one behind it is this old; so the three reach back hours. A guess.
 */
const CHECKPOINT_STEP_MS = 60 * 60_000;

/** A record of a newer kind than this page knows: it must not be overwritten. */
export class RecordsTooNew extends Error {
  name = "RecordsTooNew";
}

export function emptyRemote(deviceId) {
  return { v: 1, deviceId, pets: {} };
}

/** The record with one pet's entry put in, changed or (`entry` null) taken out. */
export function withPet(remote, localId, entry) {
  const pets = { ...remote.pets };
  if (entry === null) delete pets[localId];
  else pets[localId] = entry;
  return { ...remote, pets };
}

/** `kept` is `{v, checkpoints: [newest, …]}` or undefined; a checkpoint is `{atMs, epoch, revision, save}`. */
export function withCheckpoint(kept, fresh) {
  const [newest, ...older] = kept?.checkpoints ?? [];
  if (newest && isOlder(fresh, newest)) return kept;
  const step = older.length === 0 || fresh.atMs - older[0].atMs >= CHECKPOINT_STEP_MS;
  const behind = newest && step ? [newest, ...older] : older;
  return { v: 1, checkpoints: [fresh, ...behind].slice(0, CHECKPOINTS_MAX) };
}

/** Snapshots are ordered by epoch, then revision, then the host's clock: an older one never replaces a newer. */
export function isOlder(a, b) {
  if (a.epoch !== b.epoch) return a.epoch < b.epoch;
  if (a.revision !== b.revision) return a.revision < b.revision;
  return a.atMs < b.atMs;
}

export async function openRecords(newDeviceId) {
  const database = await opened();
  database.onversionchange = () => database.close();
  const records = new Records(database);
  await records.change((remote) => remote ?? emptyRemote(newDeviceId));
  return records;
}

class Records {
  #database;

  constructor(database) {
    this.#database = database;
  }

  /** `{deviceId, pets}`: the whole of `subtokenling.remote.v1`. */
  remote() {
    return this.#read(RECORDS, REMOTE);
  }

  /** Applies `decide(remote) -> remote` in one strict transaction, with a checkpoint beside it when one is given. */
  async change(decide, { localId = null, checkpoint = null } = {}) {
    return this.#write((stores, resolve, reject) => {
      const asked = stores.records.get(REMOTE);
      asked.onsuccess = () => {
        try {
          const remote = decide(understood(asked.result));
          stores.records.put(remote, REMOTE);
          resolve(remote);
        } catch (error) {
          reject(error);
        }
      };
      if (checkpoint) keepCheckpoint(stores.checkpoints, localId, checkpoint);
    });
  }

  /** Puts in, changes or takes out one pet; its checkpoint moves in the same transaction. */
  setPet(localId, entry, checkpoint = null) {
    return this.change((remote) => withPet(remote, localId, entry), { localId, checkpoint });
  }

  /** Changes fields of one pet that is still there; a pet that another tab took out stays out. */
  updatePet(localId, fields, checkpoint = null) {
    const decide = (remote) => {
      const entry = remote.pets[localId];
      return entry ? withPet(remote, localId, { ...entry, ...fields }) : remote;
    };
    return this.change(decide, { localId, checkpoint });
  }

  /** Takes a pet out together with its checkpoints: only after the owner said so. */
  forgetPet(localId) {
    return this.#write((stores, resolve) => {
      const asked = stores.records.get(REMOTE);
      asked.onsuccess = () => {
        stores.records.put(withPet(understood(asked.result), localId, null), REMOTE);
        stores.checkpoints.delete(localId);
        resolve();
      };
    });
  }

  /** The pet's checkpoints, newest first; none: an empty list. */
  async checkpoints(localId) {
    return (await this.#read(CHECKPOINTS, localId))?.checkpoints ?? [];
  }

  /** This page's own notes: which pet is shown, what was seen last. Losing them harms no pet. */
  async notes() {
    return (await this.#read(RECORDS, PAGE)) ?? { current: null, seen: {} };
  }

  setNotes(change) {
    return this.#write((stores, resolve) => {
      const asked = stores.records.get(PAGE);
      asked.onsuccess = () => {
        stores.records.put(change(asked.result ?? { current: null, seen: {} }), PAGE);
        resolve();
      };
    });
  }

  #read(store, key) {
    return new Promise((resolve, reject) => {
      const asked = this.#database.transaction(store).objectStore(store).get(key);
      asked.onsuccess = () => resolve(asked.result);
      asked.onerror = () => reject(asked.error);
    });
  }

  #write(work) {
    return new Promise((resolve, reject) => {
      const options = { durability: "strict" };
      const transaction = this.#database.transaction([RECORDS, CHECKPOINTS], "readwrite", options);
      let value;
      let refusal = null;
      transaction.oncomplete = () => resolve(value);
      transaction.onerror = () => reject(transaction.error);
      transaction.onabort = () => reject(refusal ?? transaction.error);
      const stores = { records: transaction.objectStore(RECORDS), checkpoints: transaction.objectStore(CHECKPOINTS) };
      const keep = (result) => (value = result);
      const refuse = (error) => {
        refusal = error;
        transaction.abort();
      };
      work(stores, keep, refuse);
    });
  }
}

function keepCheckpoint(store, localId, checkpoint) {
  const asked = store.get(localId);
  asked.onsuccess = () => store.put(withCheckpoint(asked.result, checkpoint), localId);
}

function understood(remote) {
  if (remote && remote.v !== 1) throw new RecordsTooNew();
  return remote;
}

function opened() {
  return new Promise((resolve, reject) => {
    const asked = indexedDB.open(DATABASE, DATABASE_VERSION);
    asked.onupgradeneeded = () => {
      asked.result.createObjectStore(RECORDS);
      asked.result.createObjectStore(CHECKPOINTS);
    };
    asked.onsuccess = () => resolve(asked.result);
    asked.onerror = () => reject(asked.error?.name === "VersionError" ? new RecordsTooNew() : asked.error);
  });
}
