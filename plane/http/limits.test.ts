import { expect, test } from "vitest";
import { createLimits, TooMany } from "./limits.ts";

function limitsAt() {
  const clock = { ms: 0 };
  return { clock, limits: createLimits(() => clock.ms) };
}

test("an account takes five tries a minute from one address", () => {
  const { clock, limits } = limitsAt();
  for (let tries = 0; tries < 5; tries += 1) limits.tryLogin("ada", "a");
  expect(() => limits.tryLogin("ada", "a")).toThrow(TooMany);
  clock.ms = 59_999;
  expect(() => limits.tryLogin("ada", "a")).toThrow(expect.objectContaining({ retryAfterS: 1 }));
  clock.ms = 60_000;
  limits.tryLogin("ada", "a");
});

test("a stranger slows an account down everywhere and shuts it nowhere else", () => {
  const { limits } = limitsAt();
  const delays = Array.from({ length: 10 }, (_, index) => limits.tryLogin("ada", `a${index}`));
  expect(delays).toEqual([0, 0, 0, 500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000]);
  limits.loggedIn("ada", "a1");
  expect(limits.tryLogin("ada", "a1")).toBe(0);
});

test("an address takes twenty tries a minute, whatever the account", () => {
  const { limits } = limitsAt();
  for (let tries = 0; tries < 20; tries += 1) limits.tryLogin(`user${tries}`, "a");
  expect(() => limits.tryLogin("another", "a")).toThrow(TooMany);
  limits.tryLogin("another", "b");
});

test("an address takes a hundred and twenty steps a minute at the identity provider", () => {
  const { clock, limits } = limitsAt();
  for (let steps = 0; steps < 120; steps += 1) limits.trySso("a");
  expect(() => limits.trySso("a")).toThrow(TooMany);
  limits.trySso("b");
  clock.ms = 60_000;
  limits.trySso("a");
});

test("ten bad tokens a minute shut an address", () => {
  const { clock, limits } = limitsAt();
  for (let tries = 0; tries < 10; tries += 1) {
    limits.tryToken("a");
    limits.badToken("a");
  }
  expect(() => limits.tryToken("a")).toThrow(TooMany);
  limits.tryToken("b");
  clock.ms = 60_000;
  limits.tryToken("a");
});
