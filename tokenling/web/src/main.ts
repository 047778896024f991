import { openEngine } from "./engine/client.ts";
import { openSite } from "./site/site.ts";
import { keepOffline } from "./site/offline.ts";
const site = await openSite(document.baseURI);
keepOffline(site).subscribe((state) => console.log("offline", state));
const began = performance.now();
const engine = await openEngine(site);
console.log("engine", engine.startedFrom, Math.round(performance.now() - began));
