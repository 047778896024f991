// llama.cpp's probabilities behind the last tokens of a text: a JSON line in, {text, rows, out} or {ids, rows, out}, a
// line out, {ids, vocabulary}. `out` becomes a file of so many float64 rows, each as wide as the vocabulary.
//
//     node tools/bench/llama_cpp_shares.mjs NODE_MODULES MODEL.gguf
import { writeFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [, , modules, file] = process.argv;
const entry = join(modules, "node-llama-cpp", "dist", "index.js");
const { getLlama } = await import(pathToFileURL(entry).href);
const llama = await getLlama({ gpu: false, build: "never", maxThreads: 1 });
const model = await llama.loadModel({ modelPath: file });
const plain = { temperature: 1, topK: 0, topP: 1, minP: 0 };

async function shares(ids, wanted, out) {
  const context = await model.createContext({
    contextSize: ids.length + 8,
    batchSize: ids.length,
    threads: { ideal: 1, min: 1 },
  });
  const sequence = context.getSequence();
  const first = ids.length - wanted;
  const asked = ids.map((id, at) => (at < first ? id : [id, { generateNext: { probabilities: true, options: plain } }]));
  const found = (await sequence.controlledEvaluate(asked)).slice(first);
  let vocabulary = 0;
  for (const token of found[0].next.probabilities.keys()) vocabulary = Math.max(vocabulary, token + 1);
  const rows = new Float64Array(wanted * vocabulary);
  found.forEach((item, row) => {
    for (const [token, share] of item.next.probabilities) rows[row * vocabulary + token] = share;
  });
  writeFileSync(out, Buffer.from(rows.buffer));
  await context.dispose();
  return vocabulary;
}

console.log(JSON.stringify({ ready: true }));
for await (const line of createInterface({ input: process.stdin })) {
  const { text, ids: given, rows, out } = JSON.parse(line);
  const ids = given ?? [...model.tokenize(text)];
  console.log(JSON.stringify({ ids, vocabulary: await shares(ids, rows, out) }));
}
process.exit(0);
