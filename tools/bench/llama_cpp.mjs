// llama.cpp's half of tools/bench/decode_llama_cpp.py: a JSON line in, {prompt: [ids], tokens: N}, a line out,
// {prefillMs, stepMs}.
//
//     node tools/bench/llama_cpp.mjs NODE_MODULES MODEL.gguf THREADS
import { createInterface } from "node:readline";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [, , modules, file, threads] = process.argv;
const entry = join(modules, "node-llama-cpp", "dist", "index.js");
const { getLlama } = await import(pathToFileURL(entry).href);
const llama = await getLlama({ gpu: false, build: "never", maxThreads: Number(threads) });
const model = await llama.loadModel({ modelPath: file });

// one thread: the process's own processor time, as a busy machine spoils the wall's
const clock = () => {
  if (threads !== "1") return performance.now();
  const used = process.cpuUsage();
  return (used.user + used.system) / 1000;
};

async function measure({ prompt, tokens }) {
  const context = await model.createContext({
    contextSize: prompt.length + tokens + 8,
    batchSize: prompt.length,
    threads: { ideal: Number(threads), min: Number(threads) },
  });
  const sequence = context.getSequence();
  const started = clock();
  let first = 0;
  let count = 0;
  // greedy, and never ended by an end-of-sequence token
  for await (const token of sequence.evaluate(prompt, { temperature: 0, yieldEogToken: true })) {
    count += 1;
    if (count === 1) first = clock();
    if (count === tokens) break;
  }
  const ended = clock();
  await context.dispose();
  if (count !== tokens) throw new Error(`wrote ${count} of ${tokens} tokens`);
  return { prefillMs: first - started, stepMs: (ended - first) / (tokens - 1) };
}

console.log(JSON.stringify({ ready: true }));
for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await measure(JSON.parse(line))));
}
process.exit(0);
