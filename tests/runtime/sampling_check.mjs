// docs/sampling.md in JavaScript, against the vectors: node sampling_check.mjs VECTORS.json, the exp2 table on standard
// input as JSON. Prints how many cases agree, and exits with 1 if one does not.
import { readFileSync } from "node:fs";

const table = JSON.parse(readFileSync(0, "utf8"));
const vectors = JSON.parse(readFileSync(process.argv[2], "utf8"));

function multiply(a, b) {
  const product = BigInt(a) * BigInt(b);
  return [Number(product >> 32n), Number(product & 0xffffffffn)];
}

function draw64(seed, step) {
  let [c0, c1, c2, c3] = [step, 0, 0, 0];
  let [k0, k1] = [seed % 2 ** 32, Math.floor(seed / 2 ** 32)];
  for (let round = 0; round < 10; round += 1) {
    const [leftHigh, leftLow] = multiply(0xd2511f53, c0);
    const [rightHigh, rightLow] = multiply(0xcd9e8d57, c2);
    [c0, c1, c2, c3] = [(rightHigh ^ c1 ^ k0) >>> 0, rightLow, (leftHigh ^ c3 ^ k1) >>> 0, leftLow];
    [k0, k1] = [(k0 + 0x9e3779b9) >>> 0, (k1 + 0xbb67ae85) >>> 0];
  }
  return (BigInt(c0) << 32n) | BigInt(c1);
}

function weight(max, logit, temperatureMilli) {
  const d = Math.min(Math.floor(((max - logit) * 65536 * 1000) / temperatureMilli), 2 ** 21);
  const x = Math.floor((d * 1549082005 + 2 ** 35) / 2 ** 36);
  return Math.floor(table[x % 1024] / 2 ** Math.floor(x / 1024));
}

function choose(logits, { temperatureMilli, topK, topPMilli, seed, step }) {
  const order = [...logits.keys()].sort((a, b) => logits[b] - logits[a] || a - b);
  if (temperatureMilli === 0) return order[0];
  const top = topK === 0 ? order : order.slice(0, topK);
  const weights = top.map((token) => BigInt(weight(logits[top[0]], logits[token], temperatureMilli)));
  const total = weights.reduce((sum, value) => sum + value, 0n);
  let [count, sum] = [0, 0n];
  while (count < top.length && (count === 0 || sum * 1000n < total * BigInt(topPMilli))) {
    sum += weights[count];
    count += 1;
  }
  const mark = (draw64(seed, step) * sum) >> 64n;
  let running = 0n;
  for (let at = 0; at < count; at += 1) {
    running += weights[at];
    if (running > mark) return top[at];
  }
  throw new Error("the draw lies below the sum");
}

const wrongDraws = vectors.draws.filter(({ seed, step, draw }) => draw64(seed, step) !== BigInt(draw));
const wrong = vectors.cases.filter((one) => choose(one.logits.map((value) => value ?? -Infinity), one) !== one.token);
console.log(`${vectors.cases.length - wrong.length} of ${vectors.cases.length}`);
process.exit(wrong.length + wrongDraws.length ? 1 : 0);
