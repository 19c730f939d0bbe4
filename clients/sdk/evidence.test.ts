import { expect, test } from "vitest";
import {
  canonicalJson,
  haveOwnPlaces,
  preAuthEncoding,
  type EvidenceStatement,
} from "@aim/contract";
import { evidenceInMemory, isSealKey, verifyEvidence } from "./evidence.ts";
import {
  bytesOf,
  envelopeOf,
  makeKeys,
  sealedBundle,
  type Files,
} from "./testing/sealed-bundle.ts";

const FLIPS = 10_000;
const KEYS = makeKeys(1);

async function findings(files: Files, pem?: string): Promise<string[]> {
  const report = await verifyEvidence(evidenceInMemory(files), pem);
  return report.findings.map(({ code, path }) => `${code} ${path}`).toSorted();
}

function changed(change: (files: Files) => void): Files {
  const files = sealedBundle(KEYS);
  change(files);
  return files;
}

const text = (files: Files, path: string): string => Buffer.from(files.get(path) ?? []).toString();

test("the pre-authentication encoding is the one of the DSSE specification", () => {
  const encoded = preAuthEncoding("http://example.com/HelloWorld", bytesOf("hello world"));
  expect(Buffer.from(encoded).toString()).toBe(
    "DSSEv1 29 http://example.com/HelloWorld 11 hello world",
  );
  expect(() => preAuthEncoding("ü", bytesOf(""))).toThrow(TypeError);
});

test("whole evidence has no finding, and says whether its key is vouched for", async () => {
  const report = await verifyEvidence(evidenceInMemory(sealedBundle(KEYS)));
  expect(report).toMatchObject({
    findings: [],
    vouched: false,
    keyid: KEYS.keyid,
    sealed: { state: "succeeded" },
  });
  const vouched = await verifyEvidence(evidenceInMemory(sealedBundle(KEYS)), KEYS.pem);
  expect(vouched).toMatchObject({ findings: [], vouched: true });
  expect(
    await findings(
      changed((files) => files.delete("seal.pub")),
      KEYS.pem,
    ),
  ).toEqual([]);
});

/** A small generator with a seed, so that a failure can be repeated (mulberry32). */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

test("of ten thousand flips of one bit each is found, with the caller's key and with the folder's", async () => {
  const seed = Number(process.env["AIM_SEED"] ?? 20_260_101);
  const random = randomFrom(seed);
  const whole = sealedBundle(KEYS);
  const bits = [...whole].flatMap(([path, bytes]) =>
    Array.from({ length: bytes.length * 8 }, (_, bit) => ({ path, bit })),
  );
  const missed: string[] = [];
  const hit = new Set<string>();
  for (let flip = 0; flip < FLIPS; flip += 1) {
    const last = bits.length - 1 - flip;
    const at = Math.floor(random() * (last + 1));
    const chosen = bits[at] ?? { path: "", bit: 0 };
    bits[at] = bits[last] ?? chosen;
    const bytes = Uint8Array.from(whole.get(chosen.path) ?? []);
    bytes[chosen.bit >> 3] = (bytes[chosen.bit >> 3] ?? 0) ^ (1 << (chosen.bit & 7));
    const found = await findings(
      new Map(whole).set(chosen.path, bytes),
      flip % 2 ? KEYS.pem : undefined,
    );
    if (found.length === 0) missed.push(`${chosen.path} bit ${chosen.bit}`);
    hit.add(chosen.path);
  }
  process.stdout.write(`seed ${seed}: ${FLIPS - missed.length} of ${FLIPS} flips found\n`);
  expect(missed).toEqual([]);
  expect([...hit].toSorted()).toEqual(
    [...whole].flatMap(([p, b]) => (b.length > 0 ? [p] : [])).toSorted(),
  );
});

test.for([
  [
    "a file that is gone",
    (f: Files) => f.delete("logs/stdout.log"),
    ["file_missing logs/stdout.log"],
  ],
  [
    "an empty file that is gone",
    (f: Files) => f.delete("logs/stderr.log"),
    ["file_missing logs/stderr.log"],
  ],
  [
    "a file too many",
    (f: Files) => f.set("logs/more.log", bytesOf("x")),
    ["file_unexpected logs/more.log"],
  ],
  [
    "a longer file",
    (f: Files) => f.set("logs/stdout.log", bytesOf("ok\n\n")),
    ["digest_mismatch logs/stdout.log"],
  ],
  [
    "two files in each other's place",
    (f: Files) => {
      const one = f.get("events.jsonl") ?? bytesOf("");
      f.set("events.jsonl", f.get("logs/stdout.log") ?? bytesOf("")).set("logs/stdout.log", one);
    },
    ["digest_mismatch events.jsonl", "digest_mismatch logs/stdout.log"],
  ],
  ["no manifest", (f: Files) => f.delete("manifest.json"), ["file_missing manifest.json"]],
  ["no result", (f: Files) => f.delete("result.json"), ["file_missing result.json"]],
  ["no seal", (f: Files) => f.delete("seal.json"), ["seal_missing seal.json"]],
  [
    "no key at all",
    (f: Files) => f.delete("seal.pub"),
    ["file_missing seal.pub", "signature_invalid seal.json"],
  ],
  [
    "a seal that is no JSON",
    (f: Files) => f.set("seal.json", bytesOf("{")),
    ["malformed seal.json"],
  ],
  [
    "a seal with a blank",
    (f: Files) => f.set("seal.json", bytesOf(`${text(f, "seal.json")}\n`)),
    ["malformed seal.json"],
  ],
  [
    "a key that is none",
    (f: Files) => f.set("seal.pub", bytesOf("key")),
    ["malformed seal.pub", "signature_invalid seal.json"],
  ],
  [
    "the key of somebody else",
    (f: Files) => f.set("seal.pub", bytesOf(makeKeys(2).pem)),
    ["digest_mismatch seal.pub", "signature_invalid seal.json"],
  ],
] as const)("%s is found", async ([, change, expected]) => {
  expect(await findings(changed((files) => void change(files)))).toEqual(expected);
});

test("another key of the caller's does not fit", async () => {
  expect(await findings(sealedBundle(KEYS), makeKeys(2).pem)).toEqual([
    "signature_invalid seal.json",
  ]);
  expect(await findings(sealedBundle(KEYS), "no key")).toEqual(["signature_invalid seal.json"]);
  expect([await isSealKey(KEYS.pem), await isSealKey("no key")]).toEqual([true, false]);
});

test("a seal has one spelling: its base64, its key's name and the key itself", async () => {
  const whole = text(sealedBundle(KEYS), "seal.json");
  const respelled = (change: (seal: string) => string) =>
    changed((f) => f.set("seal.json", bytesOf(change(whole))).delete("seal.pub"));
  // The last character before the padding holds four bits that decoding ignores; the next one decodes to the same.
  const loose = respelled((seal) =>
    seal.replace(/[AQgw](?===")/, (last) => String.fromCharCode(last.charCodeAt(0) + 1)),
  );
  expect(text(loose, "seal.json")).not.toBe(whole);
  expect(await findings(loose, KEYS.pem)).toEqual(["malformed seal.json"]);
  const named = respelled((seal) => seal.replace(KEYS.keyid, makeKeys(2).keyid));
  expect(await findings(named, KEYS.pem)).toEqual(["signature_invalid seal.json"]);
  const spaced = changed((f) => f.set("seal.pub", bytesOf(KEYS.pem.replace(/\n/, "\n\n"))));
  expect(await findings(spaced, KEYS.pem)).toEqual(["malformed seal.pub"]);
});

test("the seal of another attempt does not fit, whole as it is", async () => {
  const other = sealedBundle(KEYS, { run: `run_${"1".repeat(26)}` });
  const files = changed((f) => f.set("seal.json", other.get("seal.json") ?? bytesOf("")));
  expect(await findings(files, KEYS.pem)).toEqual([
    "digest_mismatch manifest.json",
    "digest_mismatch result.json",
  ]);
  const withManifest = changed((f) => {
    for (const path of ["seal.json", "manifest.json"]) f.set(path, other.get(path) ?? bytesOf(""));
  });
  expect(await findings(withManifest, KEYS.pem)).toEqual(["digest_mismatch result.json"]);
});

test("a seal for another kind of payload or statement is none", async () => {
  const reseal = (statement: unknown, more: object = {}) =>
    changed((f) =>
      f.set("seal.json", bytesOf(canonicalJson({ ...envelopeOf(statement, KEYS), ...more }))),
    );
  expect(await findings(reseal({ _type: "other" }))).toContain("malformed seal.json");
  const files = sealedBundle(KEYS);
  const envelope = JSON.parse(text(files, "seal.json")) as { signatures: unknown[] };
  const twice = { ...envelope, signatures: [...envelope.signatures, ...envelope.signatures] };
  const typed = { ...envelope, payloadType: "text/plain" };
  for (const seal of [twice, typed]) {
    files.set("seal.json", bytesOf(canonicalJson(seal)));
    expect(await findings(files)).toEqual(["malformed seal.json"]);
  }
});

test.for([
  ["another state", { state: "failed" }],
  ["another run", { attempt_id: `run_${"1".repeat(26)}` }],
  ["other evidence", { evidence: "partial" }],
] as const)("a statement that says %s than its files contradicts them", async ([, facts]) => {
  const change = (statement: EvidenceStatement) => ({
    ...statement,
    predicate: { ...statement.predicate, ...facts },
  });
  expect(await findings(sealedBundle(KEYS, { change }))).toContain("malformed seal.json");
});

test("a statement that leaves a file out contradicts the manifest", async () => {
  const change = ({ subject, ...rest }: EvidenceStatement) => ({
    ...rest,
    subject: subject.slice(1),
  });
  expect(await findings(sealedBundle(KEYS, { change }))).toEqual(["malformed seal.json"]);
});

test.for([
  "../outside",
  "/etc/passwd",
  "logs/../../x",
  "a//b",
  "Upper",
  "seal.json",
  "manifest.json/x",
])("a manifest that names %s is refused, and nothing is read there", async (path) => {
  const files = sealedBundle(KEYS, { parts: { [path]: "x" } });
  const asked: string[] = [];
  const memory = evidenceInMemory(files);
  const report = await verifyEvidence({
    ...memory,
    read: (name, max) => (asked.push(name), memory.read(name, max)),
    measure: (name) => (asked.push(name), memory.measure(name)),
  });
  expect(report.findings.length).toBeGreaterThan(0);
  const own = ["manifest.json", "result.json", "seal.json", "seal.pub"];
  expect(asked.filter((name) => !own.includes(name) && name !== "manifest.json/x")).toEqual([]);
});

test("what is no regular file is named and never opened", async () => {
  const files = sealedBundle(KEYS);
  files.delete("logs/stdout.log");
  files.delete("seal.json");
  const memory = evidenceInMemory(files);
  const refused = ["logs/stdout.log", "seal.json"];
  const report = await verifyEvidence({ ...memory, refused });
  expect(report.findings.map(({ code, path }) => `${code} ${path}`)).toEqual(
    refused.map((path) => `malformed ${path}`),
  );
  expect(report.sealed).toBeNull();
});

test("files have places of their own", () => {
  const own = (...paths: string[]) => haveOwnPlaces(paths.map((path) => ({ path })));
  expect(own("a", "b/c", "b/d")).toBe(true);
  expect([own("a", "a"), own("b/c", "b"), own("b", "b/c/d"), own("result.json")]).toEqual([
    false,
    false,
    false,
    false,
  ]);
});
