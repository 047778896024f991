import { openEngine } from "./engine/client.ts";
import { openSite } from "./site/site.ts";
const site = await openSite(document.baseURI);
const began = performance.now();
const engine = await openEngine(site, { onProgress: (p) => console.log(JSON.stringify(p)) });
console.log("engine", engine.startedFrom, Math.round(performance.now() - began));
