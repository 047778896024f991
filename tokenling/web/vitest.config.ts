import { defineConfig } from "vitest/config";

/** A test fails by what it finds, not by a machine that does ten other things: these only end one that hangs. */
const HUNG_MS = 60_000;

export default defineConfig({ test: { testTimeout: HUNG_MS, hookTimeout: HUNG_MS } });
