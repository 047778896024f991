import { expect, it } from "vitest";

import { hostProblemText } from "../../src/room/unheard.ts";

const HOST = "https://pets.example.org";
const SILENT = { code: "unreachable" };

it("a host that gave another page no answer: both causes, and what its operator must allow", () => {
  const words = hostProblemText(SILENT, HOST, "https://site.example");
  expect(words).toContain(`${HOST} gave this page no answer. Is the address right, and does the host run?`);
  expect(words).toContain("must add https://site.example to SUBTOKENLING_ALLOWED_ORIGIN");
});

it("the page's own host needs no leave for its own page", () => {
  expect(hostProblemText(SILENT, HOST, HOST)).toBe(`${HOST} does not answer. Does it run, and is this device online?`);
});

it("any other problem is said as ever", () => {
  expect(hostProblemText({ code: "host_full" }, HOST, HOST)).toBe("This host has no room for another pet.");
  expect(hostProblemText(null, HOST, HOST)).toBe("That did not work (unexpected).");
});
