// llama.cpp's tokenizer: a JSON line in, {text, special}, a line out, {ids}. Nothing is added in front or behind.
//
//     node tools/bench/llama_cpp_tokens.mjs NODE_MODULES MODEL.gguf
import { createInterface } from "node:readline";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [, , modules, file] = process.argv;
const entry = join(modules, "node-llama-cpp", "dist", "index.js");
const { getLlama } = await import(pathToFileURL(entry).href);
const llama = await getLlama({ gpu: false, build: "never", maxThreads: 1 });
const model = await llama.loadModel({ modelPath: file, vocabOnly: true });

console.log(JSON.stringify({ ready: true }));
for await (const line of createInterface({ input: process.stdin })) {
  const { text, special } = JSON.parse(line);
  console.log(JSON.stringify({ ids: [...model.tokenize(text, special)] }));
}
process.exit(0);
