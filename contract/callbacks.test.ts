import { Compile } from "typebox/compile";
import { expect, test } from "vitest";
import { CALLBACK_EVENTS, CallbackSchema } from "./callbacks.ts";
import { JobSpecSchema } from "./job-spec.ts";

const callback = Compile(CallbackSchema);
const fits = (url: string, events: unknown = ["attempt.ended"]) => callback.Check({ url, events });

test.for([
  "https://receiver.example",
  "https://receiver.example:8443/hook?a=1&b=me@example.com",
  "https://[2606:4700::1111]/",
  "http://127.0.0.1:8080/hook",
  "http://127.0.0.1",
  "http://[::1]:8080/hook",
])("a callback may be %s", (url) => {
  expect(fits(url)).toBe(true);
});

test.for([
  "http://receiver.example/",
  "http://localhost/",
  "http://127.evil.example/",
  "http://127.0.0.1.evil.example/",
  "http://127.0.0.1@evil.example/",
  "https://user:password@receiver.example/",
  "https:///hook",
  "https://receiver.example/#part",
  "https://receiver.example/ two",
  "https://receiver.example/\nhost: other",
  "ftp://receiver.example/",
  "file:///etc/passwd",
  "//receiver.example/",
  "",
  `https://receiver.example/${"a".repeat(2048)}`,
])("a callback may not be %j", (url) => {
  expect(fits(url)).toBe(false);
});

test("a callback names events that there are, each once, and nothing else", () => {
  const url = "https://receiver.example/";
  expect(fits(url, [...CALLBACK_EVENTS])).toBe(true);
  for (const events of [[], ["attempt.lost"], ["attempt.ended", "attempt.ended"]]) {
    expect(fits(url, events)).toBe(false);
  }
  expect(callback.Check({ url, events: ["attempt.ended"], secret: "x" })).toBe(false);
});

test("a job of an older client, without callbacks, is still a job", () => {
  expect(JobSpecSchema.required).not.toContain("callbacks");
});
