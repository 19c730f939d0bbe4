import { expect, test } from "vitest";
import { hashOf, idOfApiToken, newApiToken, newSessionId, sameText } from "./secrets.ts";

const ID = "pat_0123456789abcdefghjkmnpqrs";

test("a token tells its id, and none with a slip in it does", () => {
  const token = newApiToken(ID);
  expect(idOfApiToken(token)).toBe(ID);
  for (let place = 0; place < token.length; place += 1) {
    const other = token[place] === "7" ? "8" : "7";
    expect(idOfApiToken(token.slice(0, place) + other + token.slice(place + 1))).toBeNull();
  }
  expect(idOfApiToken(`${token}0`)).toBeNull();
  expect(idOfApiToken("")).toBeNull();
});

test("nothing that is random comes twice", () => {
  const made = Array.from({ length: 1_000 }, () => [newSessionId(), newApiToken(ID)]).flat();
  expect(new Set(made).size).toBe(made.length);
});

test("hashes are the same or not, whatever their length", () => {
  expect(sameText(hashOf("a"), hashOf("a"))).toBe(true);
  expect(sameText(hashOf("a"), hashOf("b"))).toBe(false);
  expect(sameText(hashOf("a"), "")).toBe(false);
});
