import { createPrivateKey, generateKeyPairSync, verify } from "node:crypto";
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { preAuthEncoding, type SealEnvelope } from "@aim/contract";
import { createClock } from "../base/clock.ts";
import { sha256 } from "../store/blobs.ts";
import { openSealKey } from "./seal-key.ts";
import { createSealer, type SealerParts } from "./seal.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "aim-seal-"));
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(folder, { recursive: true, force: true });
});

const placesOf = () => ({
  sealKey: join(folder, "seal.key"),
  sealPublicKey: join(folder, "seal.pub"),
});

test("a key is made once, for this user only, and is the same after a restart", () => {
  const places = placesOf();
  const made = openSealKey(places);
  expect(statSync(places.sealKey).mode & 0o777).toBe(0o600);
  expect(readFileSync(places.sealPublicKey, "utf8")).toBe(made.public.public_key_pem);
  expect(createPrivateKey(readFileSync(places.sealKey)).asymmetricKeyType).toBe("ed25519");
  rmSync(places.sealPublicKey);
  expect(openSealKey(places).public).toEqual(made.public);
  expect(readFileSync(places.sealPublicKey, "utf8")).toBe(made.public.public_key_pem);
});

test.for([
  ["no key", "words"],
  [
    "another kind of key",
    generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({
      type: "pkcs8",
      format: "pem",
    }),
  ],
] as const)("a file that is %s is refused and left alone", ([, content]) => {
  const places = placesOf();
  writeFileSync(places.sealKey, content);
  chmodSync(places.sealKey, 0o600);
  expect(() => openSealKey(places)).toThrow(expect.objectContaining({ name: "StoreRefused" }));
  expect(readFileSync(places.sealKey, "utf8")).toBe(content);
});

/** A store of ended attempts by id that remembers seals. */
function memoryStore(ids: readonly string[]) {
  const seals = new Map<string, string>();
  const attempt = { state: "succeeded", effect: "complete", evidence: "complete", customer: "c" };
  const store = {
    readSeal: async ({ attemptId }: { attemptId: string }) => seals.get(attemptId) ?? null,
    readAttempt: async ({ attemptId }: { attemptId: string }) => ({
      attempt: { ...attempt, id: attemptId, manifestDigest: "0".repeat(64), result: { n: 1 } },
      job: { id: "job", spec: { job_type: "t" } },
    }),
    readManifest: async ({ attemptId }: { attemptId: string }) =>
      ids.includes(attemptId) ? '{"files":[]}' : null,
    unsealed: async ({ after, limit }: { after: string; limit: number }) =>
      ids.filter((id) => id > after && !seals.has(id)).slice(0, limit),
    saveSeal: vi.fn(async (seal: { attemptId: string; envelope: string }) => {
      seals.set(seal.attemptId, seal.envelope);
      return seal.envelope;
    }),
  };
  return { seals, store: store as typeof store & SealerParts["store"] };
}

function sealerOf(ids: readonly string[]) {
  const { seals, store } = memoryStore(ids);
  const key = openSealKey(placesOf());
  const delays: unknown[] = [];
  const onDelay = (error: unknown) => void delays.push(error);
  const sealer = createSealer({ store, clock: createClock(), digest: sha256, key, onDelay });
  return { sealer, seals, store, key, delays };
}

test("a seal is signed by the key over the statement, and made once", async () => {
  const { sealer, store, key } = sealerOf(["run_1"]);
  const envelope = (await sealer.seal("run_1")) as SealEnvelope;
  const payload = Buffer.from(envelope.payload, "base64");
  const signed = preAuthEncoding("application/vnd.in-toto+json", payload);
  const [signature] = envelope.signatures;
  expect(
    verify(null, signed, key.public.public_key_pem, Buffer.from(signature?.sig ?? "", "base64")),
  ).toBe(true);
  expect(signature?.keyid).toBe(key.public.keyid);
  expect(await sealer.seal("run_1")).toEqual(envelope);
  expect(store.saveSeal).toHaveBeenCalledTimes(1);
  expect(await sealer.seal("run_without_manifest")).toBeNull();
});

test("everything that is missing is sealed after a start, more than a page of it", async () => {
  const ids = Array.from({ length: 250 }, (_, index) => `run_${String(index).padStart(3, "0")}`);
  const { sealer, seals } = sealerOf(ids);
  sealer.recover();
  await vi.waitFor(() => expect(seals.size).toBe(250));
  await sealer.stop();
});

test("a store that refuses delays the seal, and nothing else", async () => {
  vi.useFakeTimers();
  const { sealer, seals, store, delays } = sealerOf(["run_1", "run_2"]);
  store.saveSeal.mockRejectedValueOnce(new Error("full"));
  sealer.ended("run_1");
  sealer.ended("run_2");
  await vi.advanceTimersByTimeAsync(1);
  expect([[...seals.keys()], delays.length]).toEqual([["run_2"], 1]);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(seals.has("run_1")).toBe(true);
  await sealer.stop();
});
