import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { openWebhookKey, secretOf, webhookHeaders } from "./signature.ts";

const folder = mkdtempSync(join(tmpdir(), "aim-webhook-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** HMAC written out from RFC 2104 over plain SHA-256. */
function hmac(key: Uint8Array, text: string): string {
  const pad = (byte: number) =>
    Buffer.from(Array.from({ length: 64 }, (_, i) => (key[i] ?? 0) ^ byte));
  const hash = (...parts: Uint8Array[]) =>
    createHash("sha256").update(Buffer.concat(parts)).digest();
  return hash(pad(0x5c), hash(pad(0x36), Buffer.from(text))).toString("base64");
}

test("the example of the Standard Webhooks specification is signed as it says", () => {
  const secret = secretOf("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
  if (secret === null) throw new Error("no secret");
  const headers = webhookHeaders(secret, {
    id: "msg_p5jXN8AQM9LWM0D4loKWxJek",
    now: 1_614_265_330_999,
    body: '{"test": 2432232314}',
  });
  expect(headers).toEqual({
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
  });
});

test("the signature is an HMAC over id, time and the bytes that are sent", () => {
  const secret = Buffer.alloc(32, 7);
  const signed = { id: "evt_1", now: 1_000_500, body: '{"name":"Zürich"}' };
  const expected = hmac(secret, `evt_1.1000.${signed.body}`);
  expect(webhookHeaders(secret, signed)["webhook-signature"]).toBe(`v1,${expected}`);
});

test("the secret is made once, for its owner alone", () => {
  const path = join(folder, "webhook.key");
  const first = openWebhookKey(path);
  expect(first).toHaveLength(32);
  expect(openWebhookKey(path)).toEqual(first);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readFileSync(path, "utf8")).toMatch(/^whsec_[A-Za-z0-9+/]{43}=\n$/);
});

test.for([
  "",
  "whsec_",
  "whsec_c2hvcnQ=",
  "secret",
  "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\nmore",
])("a file that holds %j is refused, not replaced", (text) => {
  const path = join(folder, "foreign.key");
  writeFileSync(path, text);
  expect(() => openWebhookKey(path)).toThrow("cannot be read");
  expect(readFileSync(path, "utf8")).toBe(text);
});
