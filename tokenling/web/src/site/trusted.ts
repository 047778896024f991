/* The one place that turns an address into a worker: under Trusted Types only our own origin's scripts pass. */

interface Policies {
  createPolicy(name: string, rules: { createScriptURL(address: string): string }): { createScriptURL(address: string): string };
}

const policies = (globalThis as { trustedTypes?: Policies }).trustedTypes;
const policy = policies?.createPolicy("tokenling", { createScriptURL: ownAddress });

/** A module worker of this site. Throws for an address of another origin. */
export function workerOf(address: string): Worker {
  return new Worker(trusted(address), { type: "module" });
}

/** A script's address that Trusted Types let through, if it is our own. */
export function trusted(address: string): string {
  return policy ? policy.createScriptURL(address) : ownAddress(address);
}

function ownAddress(address: string): string {
  if (new URL(address).origin !== location.origin) throw new TypeError("a script of another origin");
  return address;
}
