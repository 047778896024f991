// llama.cpp's half of tools/bench/decode_llama_cpp.py: a JSON line in, {prompt: [ids], tokens: N}, a line out,
// {prefillMs, stepMs}, the step the median of all.
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

// of a prefill on one thread, the process's own processor time: a busy machine spoils the wall's
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
  const ends = [];
  // greedy, and never ended by an end-of-sequence token
  for await (const token of sequence.evaluate(prompt, { temperature: 0, yieldEogToken: true })) {
    if (ends.length === 0) first = clock();
    ends.push(performance.now());
    if (ends.length === tokens) break;
  }
  await context.dispose();
  if (ends.length !== tokens) throw new Error(`wrote ${ends.length} of ${tokens} tokens`);
  const steps = ends.slice(1).map((end, at) => end - ends[at]).sort((one, other) => one - other);
  return { prefillMs: first - started, stepMs: steps[steps.length >> 1] };
}

console.log(JSON.stringify({ ready: true }));
for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await measure(JSON.parse(line))));
}
process.exit(0);
