/* node tests/gallery/build.mjs OUT: the gallery as a page of its own, to be served from OUT. */

import fs from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const HERE = path.dirname(fileURLToPath(import.meta.url));
const WEB = path.resolve(HERE, "../..");
const OUT = path.resolve(process.argv[2] ?? path.join(HERE, "out"));

fs.mkdirSync(path.join(OUT, "fonts"), { recursive: true });
await build({
  absWorkingDir: WEB,
  entryPoints: ["tests/gallery/main.ts"],
  bundle: true,
  format: "esm",
  target: "es2022",
  outdir: OUT,
  external: ["fonts/*"],
  logLevel: "warning",
});
for (const name of ["nunito", "fraunces"])
  fs.copyFileSync(
    path.join(WEB, `node_modules/@fontsource-variable/${name}/files/${name}-latin-wght-normal.woff2`),
    path.join(OUT, `fonts/${name}.woff2`),
  );
const index = fs.readFileSync(path.join(WEB, "src/index.html"), "utf8");
const page = index
  .replaceAll("{{main}}", "main.js")
  .replaceAll("{{style}}", "main.css")
  .replace(/ *<link rel="(icon|manifest)"[^>]*>\n/g, "");
fs.writeFileSync(path.join(OUT, "index.html"), page);
