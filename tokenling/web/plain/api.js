/* HTTP to the pet host. Every answer becomes a value or a `HostProblem`; nothing here knows what a pet is.

   A lost answer (no response, a broken body, 408, 429, 5xx) is `HostProblem` with `lost: true`: the operation may or
   may not have happened, and repeating it with the SAME operation id is safe. Any other problem is the host's final
   word. */

/** How long an answer may take before it counts as lost. A guess, longer than a commit on a slow disk. */
const ANSWER_MS_MAX = 15_000;
/** The host answers a long-poll after 50 s at most (the protocol's bound); the rest is for the way. */
const LONG_POLL_SECONDS = 50;
const LONG_POLL_ANSWER_MS_MAX = 60_000;

const KEY_BYTES = 32;

export class HostProblem extends Error {
  /** `code` is the host's stable code, or `unreachable` when no answer came. `fields` are the problem's members. */
  constructor(code, { status = 0, fields = {} } = {}) {
    super(code);
    this.name = "HostProblem";
    this.code = code;
    this.status = status;
    this.fields = fields;
  }

  get lost() {
    return this.status === 0 || this.status === 408 || this.status === 429 || this.status >= 500;
  }
}

/** 43 characters: 32 random bytes, base64url without padding. The host keeps only their hash. */
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(KEY_BYTES));
  const base64 = btoa(String.fromCharCode(...bytes));
  return base64.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

/** A random UUID (version 4). Made by hand because `crypto.randomUUID` is missing outside secure contexts. */
export function newUuid() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** Whether a key may travel to this address: https, or plain http that never leaves this machine. */
export function isPrivate({ protocol, hostname }) {
  const loopback = hostname === "localhost" || hostname === "[::1]" || /^127(\.\d{1,3}){3}$/.test(hostname);
  return protocol === "https:" || (protocol === "http:" && loopback);
}

/** The host of one pet: its address, its id and its key. */
export class PetHost {
  constructor({ host, id, key }) {
    this.host = host;
    this.id = id;
    this.key = key;
  }

  prepare(save, enrolCode) {
    const body = { id: this.id, save, ...(enrolCode ? { enrolCode } : {}) };
    return this.#ask("POST", "/api/pets", { body });
  }

  transfer(body) {
    return this.#ask("POST", this.#path("/transfer"), { body });
  }

  command(body) {
    return this.#ask("POST", this.#path("/commands"), { body });
  }

  /** The pet is gone afterwards. A pet that is gone already is as good. */
  async remove() {
    try {
      await this.#ask("DELETE", this.#path(""));
    } catch (problem) {
      if (problem.status !== 404 && problem.status !== 410) throw problem;
    }
  }

  /** `{view, etag}`, or null when nothing changed since `etag`. With `wait` the host holds the answer until it does. */
  async view({ etag = null, wait = false, signal = null } = {}) {
    const path = this.#path(wait ? `?wait=${LONG_POLL_SECONDS}` : "");
    const headers = etag ? { "If-None-Match": etag } : {};
    const limitMs = wait ? LONG_POLL_ANSWER_MS_MAX : ANSWER_MS_MAX;
    const {
      status,
      value,
      etag: newTag,
    } = await answer(this.host + path, { headers: this.#headers(headers), signal, limitMs });
    return status === 304 ? null : { view: value, etag: newTag };
  }

  #path(rest) {
    return `/api/pets/${this.id}${rest}`;
  }

  #headers(more) {
    return { Authorization: `Bearer ${this.key}`, ...more };
  }

  async #ask(method, path, { body } = {}) {
    const json = body === undefined ? {} : { "Content-Type": "application/json" };
    const text = body === undefined ? undefined : JSON.stringify(body);
    return (await answer(this.host + path, { method, headers: this.#headers(json), body: text })).value;
  }
}

/** A newborn's save, made by the host's engine. Nothing is stored: a lost answer costs nothing. */
export async function newbornSave(host, { name, timeZone, petSeed }) {
  const headers = { "Content-Type": "application/json" };
  const body = JSON.stringify({ name, timeZone, petSeed });
  return (await answer(`${host}/app/newborn`, { method: "POST", headers, body })).value;
}

/** `{status, etag, value}` of an answer that arrived whole and in time; throws `HostProblem` for anything else. */
async function answer(url, { method = "GET", headers = {}, body, signal = null, limitMs = ANSWER_MS_MAX }) {
  const ending = new AbortController();
  const end = () => ending.abort();
  const timer = setTimeout(end, limitMs);
  signal?.addEventListener("abort", end);
  try {
    const options = { method, headers, body, signal: ending.signal, cache: "no-store", credentials: "omit" };
    const response = await fetch(url, options);
    return understood(response, await response.text());
  } catch (error) {
    if (error instanceof HostProblem) throw error;
    throw new HostProblem(signal?.aborted ? "aborted" : "unreachable");
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", end);
  }
}

function understood(response, text) {
  const value = jsonIn(text);
  if (response.status === 304 || response.status === 204) return { status: response.status, value: null };
  if (!response.ok) {
    const code = typeof value?.code === "string" ? value.code : "unexpected_answer";
    throw new HostProblem(code, { status: response.status, fields: value ?? {} });
  }
  // an answer that breaks off half-way is as lost as one that never came
  if (value === undefined) throw new HostProblem("unreachable");
  return { status: response.status, etag: response.headers.get("ETag"), value };
}

function jsonIn(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
