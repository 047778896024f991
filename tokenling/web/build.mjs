/* Builds the browser app: node build.mjs --archive engine.zip --out built [--brotli 11] [--no-snapshot]

   TypeScript is bundled by esbuild under names that carry the content's hash; Pyodide and ONNX Runtime are copied under
   names that carry their version; Pyodide's start-up snapshot is taken with the engine imported; each file that shrinks
   gets a brotli and a gzip sibling. `built/app/site.json` lists all of it (src/site/site.ts says how). The archive is
   written by tools/build_web, which calls this. */

import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs, promisify } from "node:util";
import zlib from "node:zlib";

import { build } from "esbuild";

const HERE = path.dirname(fileURLToPath(import.meta.url));
const { values: chosen } = parseArgs({
  options: {
    archive: { type: "string" },
    out: { type: "string", default: path.join(HERE, "built") },
    brotli: { type: "string", default: "9" },
    "no-snapshot": { type: "boolean", default: false },
  },
});
if (!chosen.archive) throw new Error("--archive FILE: the engine's archive is needed (python -m tools.build_web makes it)");

const versionOf = (name) => JSON.parse(read("node_modules", name, "package.json")).version;
const PYODIDE = `app/pyodide-${versionOf("pyodide")}/`;
const ORT = `app/ort-${versionOf("onnxruntime-web")}/`;
const PYODIDE_FILES = ["pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "pyodide-lock.json"];
const ORT_FILES = ["ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm"];
/** Two type families under the SIL Open Font License, in the one subset that the page's language needs. */
const FONTS = { nunito: "nunito-latin-wght-normal.woff2", fraunces: "fraunces-latin-wght-normal.woff2" };
/** Below this a compressed sibling saves nothing worth a file. */
const COMPRESS_FROM_BYTES = 400;
const COMPRESSED = new Set([".js", ".mjs", ".css", ".html", ".svg", ".json", ".wasm", ".zip", ".bin", ".webmanifest"]);
/** Names that stay the same while their content changes. */
const CHANGING = new Set(["index.html", "service-worker.js", "app/site.json", "app/icon.svg", "app/manifest.webmanifest"]);

function read(...parts) {
  return fs.readFileSync(path.join(HERE, ...parts), "utf8");
}

const hashOf = (bytes) => createHash("sha256").update(bytes).digest("hex");

function put(out, name, bytes) {
  const target = path.join(out, name);
  fs.mkdirSync(path.dirname(target), { recursive: true });
  fs.writeFileSync(target, bytes);
}

/** Puts a file under a name that carries its content; returns the name. */
function putHashed(out, stem, suffix, bytes) {
  const name = `app/${stem}-${hashOf(bytes).slice(0, 12)}${suffix}`;
  put(out, name, bytes);
  return name;
}

async function bundle(entry, options = {}) {
  const { outputFiles } = await build({
    absWorkingDir: HERE,
    entryPoints: [entry],
    bundle: true,
    write: false,
    outdir: "bundled",
    format: "esm",
    target: "es2022",
    minify: true,
    legalComments: "none",
    logLevel: "warning",
    // its loader is one of the two files that lie beside the app, not a second copy in the worker's bundle
    conditions: ["onnxruntime-web-use-extern-wasm", "module"],
    // onnxruntime-web looks for its files beside the module; ours lie in a directory of their own
    // the style names its fonts where they are put below
    external: ["fonts/*", "node:*", "fs", "path", "url", "module", "worker_threads", "perf_hooks"],
    ...options,
  });
  const stem = path.basename(entry, ".ts");
  const own = outputFiles.filter((file) => path.basename(file.path, path.extname(file.path)) === stem);
  const later = outputFiles.filter((file) => !own.includes(file));
  const bytesOf = ({ contents }) => Buffer.from(contents);
  return {
    ...Object.fromEntries(own.map((file) => [path.extname(file.path), bytesOf(file)])),
    later: Object.fromEntries(later.map((file) => [file.path, bytesOf(file)])),
  };
}

/** A text with names in it, each in its new form; one that is not there is a fault of the build. */
function named(bytes, names) {
  let text = bytes.toString("utf8");
  for (const [name, now] of Object.entries(names)) {
    if (!text.includes(name)) throw new Error(`no ${name} in the style`);
    text = text.replaceAll(name, now);
  }
  return Buffer.from(text);
}

/** A zip with its modules compiled by the Python that will import them, and nothing deflated, for it is compressed whole
    on its way. What a page need not compile is most of what a start of Python costs it: 0.9 s instead of 2 for the
    standard library, which comes as source, half a second for the engine. The compiled form says by itself that it need
    not be compared with the source.
    `below`: only modules under it. `home`: where the zip will lie, which tracebacks name. `sources`: whether they stay,
    so that a Python of another version could take them. */
function compiled(python, packed, { below = "", home, sources }) {
  python.FS.writeFile("/sources.zip", packed);
  python.globals.set("below", below);
  python.globals.set("home", home);
  python.globals.set("keep", sources);
  python.runPython(`
import importlib.util, zipfile
from importlib._bootstrap_external import _code_to_hash_pyc
with zipfile.ZipFile("/sources.zip") as found, zipfile.ZipFile("/compiled.zip", "w", zipfile.ZIP_STORED) as out:
    for entry in found.infolist():
        data = found.read(entry)
        module = entry.filename.startswith(below) and entry.filename.endswith(".py")
        if module:
            code = compile(data, f"{home}/{entry.filename}", "exec", dont_inherit=True)
            made = _code_to_hash_pyc(code, importlib.util.source_hash(data), False)
            out.writestr(zipfile.ZipInfo(f"{entry.filename}c", entry.date_time), made)
        if keep or not module:
            out.writestr(zipfile.ZipInfo(entry.filename, entry.date_time), data)
`);
  return Buffer.from(python.FS.readFile("/compiled.zip"));
}

/** Time, chance and place stand still while the snapshot is taken: the same sources give the same bytes anywhere. (The engine uses
    neither; a page that starts from the snapshot has the browser's own clock and chance again.) */
function standStill() {
  process.argv[1] = "/build.mjs"; // Python keeps the program's name and place in its memory
  process.env.TZ = "UTC"; // and reads a zip's times in the machine's zone
  let ticks = 0;
  Date.now = () => Date.UTC(2026, 0, 1);
  performance.now = () => (ticks += 1);
  crypto.getRandomValues = (array) => {
    const bytes = new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
    bytes.forEach((_, index) => (bytes[index] = (index * 37 + 11) & 255));
    return array;
  };
}

async function openPython(options = {}) {
  standStill();
  const directory = path.join(HERE, "node_modules", "pyodide") + path.sep;
  const { loadPyodide } = await import(pathToFileURL(path.join(directory, "pyodide.mjs")).href);
  return loadPyodide({ indexURL: directory, env: { PYTHONHASHSEED: "0", LANG: "C.UTF-8" }, ...options });
}

/** `stdLibURL` is the very file that pages will have: the memory knows where in it each module lies. */
async function takeSnapshot(archive, stdLibURL) {
  const python = await openPython({ _makeSnapshot: true, stdLibURL });
  python.FS.writeFile("/engine.zip", archive);
  python.runPython(`
import sys
if "/engine.zip" not in sys.path:
    sys.path.insert(0, "/engine.zip")
from tokenling.engine import bridge
from tokenling.engine.contract import contract
from tokenling.engine import zones
zones.zone("Etc/UTC")  # the archive's directory is read: a page's first pet finds its own zone at once
if "random" in sys.modules:  # seeded from the system when it was imported
    sys.modules["random"].seed(0)
`);
  return Buffer.from(python.makeMemorySnapshot());
}

const brotli = promisify(zlib.brotliCompress);
const gzip = promisify(zlib.gzip);

async function compress(out, name, level) {
  const bytes = fs.readFileSync(path.join(out, name));
  if (!COMPRESSED.has(path.extname(name)) || bytes.length < COMPRESS_FROM_BYTES) return;
  const kinds = { br: { [zlib.constants.BROTLI_PARAM_QUALITY]: level, [zlib.constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } };
  kinds.br[zlib.constants.BROTLI_PARAM_LGWIN] = 24;
  const [small, wide] = await Promise.all([brotli(bytes, { params: kinds.br }), gzip(bytes, { level: 9 })]);
  if (small.length < bytes.length) fs.writeFileSync(path.join(out, `${name}.br`), small);
  if (wide.length < bytes.length) fs.writeFileSync(path.join(out, `${name}.gz`), wide);
}

function namesBelow(out, directory = "") {
  return fs
    .readdirSync(path.join(out, directory), { withFileTypes: true })
    .flatMap((entry) => {
      const name = directory ? `${directory}/${entry.name}` : entry.name;
      return entry.isDirectory() ? namesBelow(out, name) : [name];
    })
    .sort();
}

/** Puts what a bundle loads later beside it, under names that carry their content; returns the bundle with those names.
    A file is put once nothing in it waits for another one's name. */
function putLater(out, bundle, later) {
  const waiting = new Map(Object.entries(later).map(([file, bytes]) => [path.basename(file), bytes.toString("utf8")]));
  let text = bundle.toString("utf8");
  while (waiting.size > 0) {
    const names = [...waiting.keys()];
    const next = names.find((name) => !names.some((other) => other !== name && waiting.get(name).includes(other)));
    if (next === undefined) throw new Error(`files that wait for each other: ${names}`);
    const stem = next.replace(/-[A-Z0-9]{8}\.js$/, "").toLowerCase();
    const now = path.basename(putHashed(out, stem, ".js", Buffer.from(waiting.get(next))));
    waiting.delete(next);
    for (const [name, one] of waiting) waiting.set(name, one.replaceAll(next, now));
    text = text.replaceAll(next, now);
  }
  return Buffer.from(text);
}

async function main(out) {
  const python = await openPython();
  const archive = compiled(python, fs.readFileSync(chosen.archive), { below: "tokenling/", home: "/engine.zip", sources: true });
  const library = fs.readFileSync(path.join(HERE, "node_modules/pyodide/python_stdlib.zip"));
  const stdlib = compiled(python, library, { home: python.runPython("import os; os.path.dirname(os.__file__)"), sources: false });
  fs.rmSync(out, { recursive: true, force: true });
  for (const name of PYODIDE_FILES) put(out, PYODIDE + name, fs.readFileSync(path.join(HERE, "node_modules/pyodide", name)));
  for (const name of ORT_FILES) {
    put(out, ORT + name, fs.readFileSync(path.join(HERE, "node_modules/onnxruntime-web/dist", name)));
  }
  const fonts = {};
  for (const [name, file] of Object.entries(FONTS)) {
    const family = path.join(HERE, "node_modules/@fontsource-variable", name);
    const found = putHashed(out, `fonts/${name}`, ".woff2", fs.readFileSync(path.join(family, "files", file)));
    fonts[`fonts/${name}.woff2`] = found.slice("app/".length);
    put(out, `app/fonts/${name}.LICENSE.txt`, fs.readFileSync(path.join(family, "LICENSE")));
  }
  const engine = {
    pyodide: PYODIDE,
    stdlib: putHashed(out, "stdlib", ".zip", stdlib),
    archive: putHashed(out, "engine", ".zip", archive),
    snapshot: null,
  };
  if (!chosen["no-snapshot"]) {
    engine.snapshot = putHashed(out, "snapshot", ".bin", await takeSnapshot(archive, path.join(out, engine.stdlib)));
  }
  const workers = {};
  for (const kind of ["engine", "brain"]) {
    const found = await bundle(`src/${kind}/worker.ts`);
    workers[kind] = putHashed(out, `${kind}-worker`, ".js", found[".js"]);
  }
  const page = await bundle("src/main.ts", { splitting: true, chunkNames: "[name]-[hash]" });
  const main = putHashed(out, "main", ".js", putLater(out, page[".js"], page.later));
  const style = putHashed(out, "main", ".css", named(page[".css"] ?? Buffer.from(""), fonts));
  put(out, "app/icon.svg", fs.readFileSync(path.join(HERE, "src/site/icon.svg")));
  put(out, "app/manifest.webmanifest", fs.readFileSync(path.join(HERE, "src/site/manifest.webmanifest")));
  const index = read("src/index.html").replaceAll("{{main}}", main).replaceAll("{{style}}", style);
  put(out, "index.html", index);
  const files = Object.fromEntries(
    namesBelow(out).map((name) => {
      const bytes = fs.readFileSync(path.join(out, name));
      return [name, { bytes: bytes.length, sha256: hashOf(bytes) }];
    }),
  );
  const buildId = hashOf(JSON.stringify(files)).slice(0, 12);
  const kept = Object.keys(files).filter((name) => name !== "index.html");
  const worker = await bundle("src/site/service-worker.ts", {
    format: "iife",
    define: { BUILD: JSON.stringify(buildId), FILES: JSON.stringify(kept) },
  });
  put(out, "service-worker.js", worker[".js"]);
  const site = { v: 1, build: buildId, engine, ort: ORT, workers, files };
  const bare = { ...site, brain: null, brainMissing: "not_bundled", defaultHost: null, hosted: false };
  put(out, "app/site.json", JSON.stringify(bare, null, 1));
  for (const name of namesBelow(out)) await compress(out, name, Number(chosen.brotli));
}

await main(path.resolve(chosen.out));
