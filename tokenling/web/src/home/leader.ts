/* Which tab runs this page's pets: the one that holds the Web Lock `tokenling.v1`.

   A tab that waits gets the lock when the other closes. One that wants it now asks first (BroadcastChannel): the leader
   ends what it has under way and lets go; only a leader that does not answer is robbed. What it might still write then
   is refused by the records' own revision. Without Web Locks (an insecure page) each tab leads, and the revisions alone
   keep two of them apart. */

const LOCK = "tokenling.v1";
const CHANNEL = "tokenling.v1";
/** How long a leader may take to let go: a commit, and the brain's next token. Then it is taken for hung. A guess. */
const YIELD_MS_MAX = 3000;

export type TabRole = "leader" | "waiting" | "taking";

type Message = { kind: "yield" } | { kind: "changed" };

export interface LeaderParts {
  /** This tab leads from now on. */
  onLead: () => void;
  /** This tab leads no more; resolves when nothing of it is under way. */
  onYield: () => Promise<void>;
  onRole: () => void;
  /** Another tab has stored something. */
  onChanged: () => void;
}

export class Leader {
  #parts: LeaderParts;
  #role: TabRole = "waiting";
  #channel: BroadcastChannel | null;
  #letGo: (() => void) | null = null;
  #asking: AbortController | null = null;
  #closed = false;

  constructor(parts: LeaderParts) {
    this.#parts = parts;
    this.#channel = typeof BroadcastChannel === "undefined" ? null : new BroadcastChannel(CHANNEL);
    if (this.#channel) this.#channel.onmessage = (event: MessageEvent<Message>) => this.#hear(event.data);
  }

  get role(): TabRole {
    return this.#role;
  }

  #is(role: TabRole): boolean {
    return this.#role === role;
  }

  /** Leads at once when no other tab does; resolves when that is known. */
  async start(): Promise<void> {
    if (!("locks" in navigator)) return this.#lead();
    await new Promise<void>((known) => {
      const options: LockOptions = { ifAvailable: true };
      void this.#request(options, known).then((held) => {
        known();
        if (!held) this.#queue();
      });
    });
  }

  /** Tells the other tabs that something is on the disk. */
  tell(): void {
    this.#post({ kind: "changed" });
  }

  /** This tab becomes the leader; resolves when it is. */
  async take(): Promise<void> {
    if (!this.#is("waiting") || this.#closed) return;
    this.#set("taking");
    this.#post({ kind: "yield" });
    const waitUntil = performance.now() + YIELD_MS_MAX; // the wall clock may be set meanwhile
    while (this.#is("taking") && performance.now() < waitUntil) await new Promise((resolve) => setTimeout(resolve, 50));
    if (!this.#is("taking")) return;
    this.#asking?.abort();
    await new Promise<void>((led) => void this.#request({ steal: true }, led));
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#asking?.abort();
    await this.#yield();
    this.#channel?.close();
    this.#channel = null;
  }

  #hear(message: Message): void {
    if (message.kind === "changed") this.#parts.onChanged();
    else if (this.#role === "leader") void this.#yield();
  }

  /** Waits in the queue of the lock, behind the leader. */
  #queue(): void {
    if (this.#closed) return;
    this.#asking = new AbortController();
    void this.#request({ signal: this.#asking.signal }, () => undefined);
  }

  /** Holds the lock until this tab lets go of it. Resolves with whether it was had. */
  async #request(options: LockOptions, led: () => void): Promise<boolean> {
    let held = false;
    try {
      await navigator.locks.request(LOCK, options, async (lock) => {
        if (lock === null || this.#closed) return;
        held = true;
        await new Promise<void>((letGo) => {
          this.#letGo = letGo;
          this.#lead();
          led();
        });
      });
    } catch {
      // robbed of it, or no longer asking
      if (held) await this.#ended();
    }
    return held;
  }

  #lead(): void {
    this.#set("leader");
    this.#parts.onLead();
  }

  async #yield(): Promise<void> {
    if (this.#role !== "leader") return;
    this.#set("waiting");
    await this.#parts.onYield();
    const letGo = this.#letGo;
    this.#letGo = null;
    letGo?.();
    this.#queue();
  }

  /** Another tab took the lock by force: what is under way here is refused by the records. */
  async #ended(): Promise<void> {
    if (this.#role !== "leader") return;
    this.#letGo = null;
    this.#set("waiting");
    await this.#parts.onYield();
    this.#queue();
  }

  #set(role: TabRole): void {
    this.#role = role;
    this.#parts.onRole();
  }

  #post(message: Message): void {
    this.#channel?.postMessage(message);
  }
}
