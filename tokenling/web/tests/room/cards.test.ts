import { expect, test } from "vitest";

import { isOfThisMachine } from "../../src/room/views/cards.ts";

test.each(["127.0.0.1:8460", "127.1.2.3", "localhost", "localhost:80", "[::1]:8460"])("%s is this machine", (host) => {
  expect(isOfThisMachine(host)).toBe(true);
});

test.each(["pets.example", "localhost.example", "127.0.0.1.example:80", "10.0.0.4:8460", "[::2]:1"])("%s is not", (host) => {
  expect(isOfThisMachine(host)).toBe(false);
});
