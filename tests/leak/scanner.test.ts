import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { CanaryCage } from "./canaries.ts";
import { Scanner } from "./scanner.ts";

const cage = new CanaryCage();
const canaries = cage.some(200);
const scanner = new Scanner(canaries);

const WRITTEN: Readonly<Record<string, (text: string) => string>> = {
  "as it is": (text) => text,
  "in JSON": (text) => JSON.stringify({ deep: [{ text }] }),
  "in JSON within JSON": (text) => JSON.stringify({ inner: JSON.stringify([text]) }),
  "in an address": (text) => `https://user:${encodeURIComponent(text)}@host/`,
  "in a form": (text) => new URLSearchParams({ text }).toString(),
  "in hex": (text) => Buffer.from(`x${text}`).toString("hex"),
  "in base64, first place": (text) => Buffer.from(`${text}tail`).toString("base64"),
  "in base64, second place": (text) => Buffer.from(`a${text}tail`).toString("base64"),
  "in base64, third place": (text) => Buffer.from(`ab${text}tail`).toString("base64"),
  "in base64 for addresses": (text) => Buffer.from(`abc${text}`).toString("base64url"),
};

test.each(Object.entries(WRITTEN))("the scanner finds each secret written %s", (_, write) => {
  for (const canary of canaries) {
    const noise = randomBytes(200).toString("latin1");
    const bytes = Buffer.from(`${noise}${write(canary)}${noise}`);
    expect(scanner.scan(bytes).map((found) => found.canary)).toContain(canary);
  }
});

test("the scanner finds nothing in noise, nor a secret that is one letter short", () => {
  expect(scanner.scan(randomBytes(4_000_000))).toEqual([]);
  for (const canary of canaries) {
    expect(scanner.scan(Buffer.from(`> ${canary.slice(0, -1)}`))).toEqual([]);
  }
});
