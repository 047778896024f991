import { vi } from "vitest";

/** Longer than anything waited for takes on a loaded machine: it ends a test that waits in vain. */
const IN_VAIN_MS = 30_000;

/** Resolves once `isSo`. */
export async function until(isSo: () => unknown): Promise<void> {
  await vi.waitUntil(isSo, { timeout: IN_VAIN_MS, interval: 5 });
}
