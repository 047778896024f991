import { expect, it } from "vitest";
import { Turns, type Banner } from "../../src/room/views/banners.ts";

const notice = (key: string, text = key): Banner => ({ key, text, actions: [] });
const inSight = (turns: Turns, banners: Banner[]) => {
  const { open, at } = turns.of(banners);
  return open[at]?.key;
};

it("shows the most pressing notice first and the others one after the other", () => {
  const turns = new Turns();
  const banners = [notice("two"), notice("lost"), notice("offer")];
  turns.take(banners);
  const seen = banners.map(() => {
    const key = inSight(turns, banners);
    turns.next(banners);
    return key;
  });
  expect(seen).toEqual(["two", "lost", "offer"]);
  expect(inSight(turns, banners)).toBe("two");
});

it("stays with a notice while others come after it, and leaves it for one that presses more", () => {
  const turns = new Turns();
  const banners = [notice("lost"), notice("offer")];
  turns.take(banners);
  turns.next(banners);
  const later = [...banners, notice("update")];
  expect(turns.take(later)).toEqual(["update"]);
  expect(inSight(turns, later)).toBe("offer");
  const pressing = [notice("two"), ...later];
  expect(turns.take(pressing)).toEqual(["two"]);
  expect(inSight(turns, pressing)).toBe("two");
});

it("keeps what was put aside away until it has something else to say, or is brought back", () => {
  const turns = new Turns();
  const [lost, offer] = [notice("lost", "no answer"), notice("offer")];
  turns.take([lost, offer]);
  turns.putAside(lost);
  turns.take([lost, offer]);
  expect(turns.of([lost, offer]).open).toEqual([offer]);
  const again = notice("lost", "no answer since noon");
  turns.take([again, offer]);
  expect(turns.of([again, offer]).open).toEqual([again, offer]);
  turns.putAside(again);
  turns.bringBack();
  expect(turns.of([again, offer]).open).toEqual([again, offer]);
});

it("forgets what was put aside when it is over: the next time it is news", () => {
  const turns = new Turns();
  turns.take([notice("lost")]);
  turns.putAside(notice("lost"));
  turns.take([]);
  expect(turns.take([notice("lost")])).toEqual(["lost"]);
  expect(inSight(turns, [notice("lost")])).toBe("lost");
});
