import { expect, test } from "vitest";
import { checkPassword, createPasswords } from "./passwords.ts";

const CHEAP = { memoryKib: 64, passes: 1, parallelism: 1 };

test("a password fits its own hash and no other, and no hash at all fits nothing", async () => {
  const { hash, verify } = createPasswords(CHEAP);
  const kept = await hash("correct horse");
  expect(kept).toMatch(/^\$argon2id\$v=19\$m=64,t=1,p=1\$[^$=]{22}\$[^$=]{43}$/);
  expect(await hash("correct horse")).not.toBe(kept);
  expect(await verify("correct horse", kept)).toBe(true);
  expect(await verify("correct horsf", kept)).toBe(false);
  expect(await verify("correct horse", null)).toBe(false);
});

test("a hash is checked at the cost it was made with", async () => {
  const kept = await createPasswords(CHEAP).hash("correct horse");
  const dearer = createPasswords({ memoryKib: 128, passes: 2, parallelism: 1 });
  expect(await dearer.verify("correct horse", kept)).toBe(true);
});

test("the cost is what the documentation says", async () => {
  expect(await createPasswords().hash("correct horse")).toMatch(/\$m=65536,t=3,p=1\$/);
});

test("a character that can be written in two ways is one password", async () => {
  const { hash, verify } = createPasswords(CHEAP);
  expect(await verify("cafe\u0301 creme", await hash("caf\u00e9 creme"))).toBe(true);
});

test("a crowd is sent away instead of waiting without end, and the next one is let in", async () => {
  const { hash } = createPasswords({ ...CHEAP, memoryKib: 1024 });
  const crowd = Array.from({ length: 200 }, () => hash("correct horse"));
  const settled = await Promise.allSettled(crowd);
  const refused = settled.filter(({ status }) => status === "rejected");
  expect(refused).toHaveLength(200 - 2 - 64);
  expect(await hash("correct horse")).toMatch(/^\$argon2id/);
});

test.for([
  ["seven characters", "abcdefg"],
  ["129 characters", "abc".repeat(43)],
  ["one of the commonest", "password123"],
  ["one of the commonest in capitals", "Password123"],
  ["the user's name", "ada.lovelace"],
  ["one character over and over", "aaaaaaaaaaaa"],
] as const)("%s may not be chosen", ([, password]) => {
  expect(() => checkPassword(password, "ada.lovelace")).toThrow(
    expect.objectContaining({ code: "password_refused" }),
  );
});

test.for([
  ["eight characters", "kf7 q-2x"],
  ["eight of another script", "пароль-я"],
  ["128 characters", "ab-d".repeat(32)],
  ["128 that take two units each", "\u{1f511}\u{1f6aa}\u{1f9f1}\u{1f333}".repeat(32)],
] as const)("%s may be chosen", ([, password]) => {
  checkPassword(password, "ada.lovelace");
});
