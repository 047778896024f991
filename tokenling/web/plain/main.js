/* Opens this browser's records and starts the page. Without records nothing is started: a pet's key would be lost. */

import { isPrivate, newUuid } from "./api.js";
import { App } from "./app.js";
import { html, put } from "./dom.js";
import { RecordsTooNew, openRecords } from "./records.js";
import { say } from "./strings.js";

const page = document.getElementById("page");
const live = document.getElementById("live");

async function start() {
  if (!isPrivate(location)) return refuse("problem.plain_http");
  let records;
  try {
    records = await openRecords(newUuid());
  } catch (error) {
    const key = error instanceof RecordsTooNew ? "problem.records_too_new" : "problem.no_storage";
    return refuse(key);
  }
  const app = new App(records, page, live);
  app.guard();
  await app.start();
}

function refuse(key) {
  put(page, html("main", { class: "meet" }, html("p", { class: "alert", role: "alert" }, say(key))));
}

start();
