/* The real engine for tests in Node: `tokenling.engine.bridge` in a Python process, one JSON line a call. */

import { spawn } from "node:child_process";
import path from "node:path";
import readline from "node:readline";
import { fileURLToPath } from "node:url";

import type { Engine } from "../../src/contract.ts";

const ROOT = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../../../..");
const SERVE = `
import json, sys
from tokenling.engine import bridge
for line in sys.stdin:
    name, arguments = json.loads(line)
    try:
        answer = bridge.call(name, arguments)
    except Exception as fault:
        answer = json.dumps({"fault": type(fault).__name__})
    print(answer, flush=True)
`;

export interface NativeEngine extends Engine {
  /** What was called, in order. */
  calls: string[];
  stop(): void;
}

export function nativeEngine(): NativeEngine {
  const python = spawn(process.env.PYTHON ?? "python3", ["-c", SERVE], {
    cwd: ROOT,
    stdio: ["pipe", "pipe", "inherit"],
  });
  const waiting: ((line: string) => void)[] = [];
  readline.createInterface({ input: python.stdout }).on("line", (line) => waiting.shift()!(line));
  const calls: string[] = [];
  const call = async (name: string, args: unknown) => {
    calls.push(name);
    const line = await new Promise<string>((resolve) => {
      waiting.push(resolve);
      python.stdin.write(`${JSON.stringify([name, JSON.stringify(args)])}\n`);
    });
    const { ok, refused, fault } = JSON.parse(line);
    if (refused) throw Object.assign(new Error(refused.code), refused);
    if (fault) throw Object.assign(new Error("fault"), { name: fault });
    return ok;
  };
  return {
    call: call as Engine["call"],
    contract: () => Promise.reject(new Error("not here")),
    startedFrom: "files",
    calls,
    stop: () => void python.kill(),
  };
}
