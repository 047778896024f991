/* HTTP to a pet host. Every definite answer becomes an `Answer`, silence a `HostSilent`; nothing here decides anything.

   No response, a broken body, 408, 429 and 5xx are silence: the operation may or may not have happened, and repeating
   it under the SAME operation id is safe. Keys travel in the `Authorization` header alone. */

import type { HostFacts, Json, JsonObject, OwnerReceipt, PetView } from "../contract.ts";
import type { Answer, MoveRequest } from "./conclusions.ts";
import { keyHash } from "./ids.ts";
import type { Connection, Stop, Wish } from "./layout.ts";
import { HomeProblem, HostRefusal, HostSilent } from "./problems.ts";

/** How long an answer may take before it counts as lost. A guess, longer than a commit on a slow disk. */
const ANSWER_MS_MAX = 15_000;
/** A host answers a long-poll after 50 s at most (the protocol's bound); the rest is for the way. */
const LONG_POLL_SECONDS = 50;
const LONG_POLL_ANSWER_MS_MAX = 60_000;
/** An answer holds a save of at most 1 MiB; JSON escapes, receipts and the rest fit in this. */
const ANSWER_CHARS_MAX = 16 * 1024 * 1024;
const RETRY_AFTER_MS_MAX = 60_000;
/** The engine's bound on times, the year 2200. */
const TIME_MS_MAX = 7_258_118_400_000;

interface Sent {
  method?: "GET" | "POST" | "DELETE";
  key?: string;
  etag?: string | null;
  body?: JsonObject;
  signal?: AbortSignal | null;
  limitMs?: number;
}

interface Arrived {
  status: number;
  etag: string | null;
  value: JsonObject | null;
}

/** Whether a key may travel to this address: https, or plain http that never leaves this machine. */
export function isPrivate({ protocol, hostname }: { protocol: string; hostname: string }): boolean {
  const loopback = hostname === "localhost" || hostname === "[::1]" || /^127(\.\d{1,3}){3}$/.test(hostname);
  return protocol === "https:" || (protocol === "http:" && loopback);
}

/** The origin that an owner typed, as it is stored. Throws `host_address` for anything else, `plain_http` for an
    address to which a key must not travel. */
export function originOf(text: string): string {
  const address = /^[a-z]+:\/\//i.test(text.trim()) ? text.trim() : `https://${text.trim()}`;
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url === null || !["http:", "https:"].includes(url.protocol) || url.username !== "" || url.hostname === "")
    throw new HomeProblem("host_address");
  if (!isPrivate(url)) throw new HomeProblem("plain_http", { host: url.host });
  return url.origin;
}

/** `GET /api/health`, of a host that is ready or says why not. */
export async function health(origin: string): Promise<HostFacts> {
  const { value } = await heard(await arrived(`${origin}/api/health`, {}, { also: [503] }));
  const { engine, release, features, ready, protocol } = value ?? {};
  if (protocol !== 1) throw new HostRefusal("other_protocol", 200, { protocol: protocol ?? null });
  if (typeof engine !== "number" || typeof release !== "string") throw new HostRefusal("unexpected_answer", 200);
  const names = Array.isArray(features) ? features.filter((name): name is string => typeof name === "string") : [];
  return { origin, engine, release, features: names, ready: ready === true };
}

/** Sends what a stored intent stands for. */
export async function moved(
  at: Connection,
  deviceId: string,
  request: MoveRequest,
  enrolCode?: string,
): Promise<Answer> {
  const pet = petUrl(at);
  switch (request.kind) {
    case "prepare": {
      const body = { id: at.id, save: request.save, ...(enrolCode ? { enrolCode } : {}) };
      return recordOf(await arrived(`${at.host}/api/pets`, { method: "POST", key: at.key, body }));
    }
    case "transfer": {
      return recordOf(
        await arrived(`${pet}/transfer`, { method: "POST", key: at.key, body: transferBody(request, deviceId) }),
      );
    }
    case "key": {
      const { operationId, epoch } = request;
      const body = { operationId, epoch, newKeyHash: await keyHash(request.newKey) };
      return recordOf(await arrived(`${pet}/key`, { method: "POST", key: at.key, body }));
    }
    case "delete":
      return answerOf(await arrived(pet, { method: "DELETE", key: request.key }));
    case "view":
      return recordOf(await arrived(pet, { key: request.key }));
  }
}

function transferBody(request: Extract<MoveRequest, { kind: "transfer" }>, deviceId: string): JsonObject {
  const { to, operationId, epoch } = request;
  if (request.to === "local") return { to, operationId, epoch, deviceId };
  const takeover: JsonObject = request.takeover ? { takeover: true } : {};
  return { to, operationId, epoch, deviceId, save: request.save, ...takeover };
}

/** A stop: the park with its recorded epoch, or the deletion. */
export async function stop(at: Stop, deviceId: string): Promise<Answer> {
  if (at.kind === "delete") return moved(at, deviceId, { kind: "delete", key: at.key });
  return moved(at, deviceId, { kind: "transfer", to: "local", operationId: at.operationId, epoch: at.epoch });
}

/** A wish, as it was first sent. Resolves when it has happened, throws the host's refusal. */
export async function wish(at: Connection, { epoch, operationId, command }: Wish): Promise<Answer> {
  const body: JsonObject = { epoch, operationId, command };
  return succeeded(recordOf(await arrived(`${petUrl(at)}/commands`, { method: "POST", key: at.key, body })));
}

/** The host's view and its tag, or null when nothing changed since `etag`. With `wait` the answer is held until it
    does. */
export async function view(
  at: Connection,
  {
    etag = null,
    wait = false,
    signal = null,
  }: { etag?: string | null; wait?: boolean; signal?: AbortSignal | null } = {},
): Promise<{ view: PetView; etag: string | null } | null> {
  const query = wait ? `?wait=${LONG_POLL_SECONDS}` : "";
  const limitMs = wait ? LONG_POLL_ANSWER_MS_MAX : ANSWER_MS_MAX;
  const answer = await arrived(petUrl(at) + query, { key: at.key, etag, signal, limitMs });
  if (answer.status === 304) return null;
  succeeded(answerOf(answer));
  if (!isView(answer.value) || answer.value?.id !== at.id) throw new HostSilent("unexpected_answer");
  return { view: answer.value as unknown as PetView, etag: answer.etag };
}

/** The last turn receipts of a pet, oldest first. */
export async function receipts(at: Connection): Promise<OwnerReceipt[]> {
  const answer = await arrived(`${petUrl(at)}/receipts`, { key: at.key });
  succeeded(answerOf(answer));
  const list = answer.value?.receipts;
  return Array.isArray(list)
    ? list.filter((one): one is JsonObject => typeof one === "object" && one !== null && !Array.isArray(one))
    : [];
}

/** The answer, or its refusal thrown. */
export function succeeded(answer: Answer): Answer {
  if (answer.status >= 200 && answer.status < 300) return answer;
  throw new HostRefusal(answer.code, answer.status, answer.fields);
}

function petUrl({ host, id }: Connection): string {
  return `${host}/api/pets/${id}`;
}

/** What may take the place of a copy that was good. Whether its rules can be lived is the engine's to say. */
function isView(value: JsonObject | null): boolean {
  const { save, epoch, revision, status, serverTime, effects } = value ?? {};
  const numbers = [epoch, revision, serverTime].every(isCount);
  const inTime = numbers && (serverTime as number) <= TIME_MS_MAX;
  return inTime && typeof status === "string" && saveIn(save) !== null && Array.isArray(effects);
}

/** What a host may count with: an epoch of another kind would be stored, sent back, and refused for ever. */
function isCount(value: Json | undefined): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** A save by its looks: an object with a name. */
function saveIn(value: Json | undefined): JsonObject | null {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return null;
  return typeof value.name === "string" ? value : null;
}

/** An answer that says where the pet stands. One that does not is not from a host, whatever else answered. */
function recordOf(came: Arrived): Answer {
  const answer = answerOf(came);
  if (answer.status < 400 && (answer.epoch < 1 || answer.revision < 1)) throw new HostSilent("unexpected_answer");
  return answer;
}

function answerOf({ status, value }: Arrived): Answer {
  const number = (field: string) => (isCount(value?.[field]) ? value[field] : 0);
  const text = (field: string) => (typeof value?.[field] === "string" ? value[field] : "");
  const failed = status >= 400;
  return {
    status,
    code: failed ? text("code") || "unexpected_answer" : "",
    epoch: number("epoch"),
    revision: number("revision"),
    petStatus: text(failed ? "petStatus" : "status"),
    save: saveIn(value?.save),
    saveProblem: (value?.save ?? null) !== null && saveIn(value?.save) === null ? "save_refused" : null,
    serverTime: typeof value?.serverTime === "number" ? value.serverTime : null,
    fields: failed ? (value ?? {}) : {},
  };
}

async function arrived(url: string, sent: Sent, { also = [] }: { also?: number[] } = {}): Promise<Arrived> {
  const { response, text } = await fetched(url, sent);
  const { status } = response;
  const expected = also.includes(status);
  const silent = status === 408 || status === 429 || status >= 500;
  const value = jsonIn(text);
  if (silent && !expected) throw new HostSilent(codeIn(value) ?? "unreachable", retryAfterMs(response));
  const bare = status === 304 || status === 204;
  // an answer that breaks off half-way, or comes from something else on the way, is as lost as one that never came
  if (!bare && value === undefined) throw new HostSilent("unreachable");
  if (status >= 400 && !expected && !(isProblem(response) && codeIn(value) !== null))
    throw new HostSilent("unexpected_answer");
  return { status, etag: response.headers.get("ETag"), value: value ?? null };
}

async function fetched(url: string, { method = "GET", key, etag, body, signal, limitMs = ANSWER_MS_MAX }: Sent) {
  const limit = AbortSignal.timeout(limitMs);
  const headers: Record<string, string> = {};
  if (key !== undefined) headers["Authorization"] = `Bearer ${key}`;
  if (etag) headers["If-None-Match"] = etag;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const options: RequestInit = {
    method,
    headers,
    signal: signal ? AbortSignal.any([signal, limit]) : limit,
    cache: "no-store",
    credentials: "omit",
    // a redirect would carry a save to a host that no owner chose
    redirect: "error",
  };
  if (body !== undefined) options.body = JSON.stringify(body);
  try {
    const response = await fetch(url, options);
    return { response, text: await textOf(response) };
  } catch (error) {
    if (error instanceof HomeProblem) throw error;
    throw new HostSilent(signal?.aborted ? "aborted" : "unreachable");
  }
}

/** The body. What is longer than any answer is not read to its end: it need not have one. */
async function textOf({ body }: Response): Promise<string> {
  const decoder = new TextDecoder();
  const reader = body?.getReader();
  let text = "";
  for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read()) {
    text += decoder.decode(part.value, { stream: true });
    if (text.length <= ANSWER_CHARS_MAX) continue;
    await reader?.cancel();
    throw new HostSilent("unexpected_answer");
  }
  return text + decoder.decode();
}

function heard(answer: Arrived): Arrived {
  if (answer.status >= 400 && answer.status !== 503)
    throw new HostRefusal(codeIn(answer.value ?? undefined) ?? "unexpected_answer", answer.status);
  return answer;
}

/** A refusal of a pet host, not of something else on the way: its word may end a move. */
function isProblem(response: Response): boolean {
  return (response.headers.get("Content-Type") ?? "").startsWith("application/problem+json");
}

function retryAfterMs(response: Response): number | null {
  const seconds = Number(response.headers.get("Retry-After") ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? Math.min(seconds * 1000, RETRY_AFTER_MS_MAX) : null;
}

function codeIn(value: JsonObject | undefined): string | null {
  return typeof value?.code === "string" ? value.code : null;
}

function jsonIn(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
  } catch {
    return undefined;
  }
}
