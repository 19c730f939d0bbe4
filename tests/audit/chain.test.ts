// Every single damage to an exported audit is found: 10,000 rows, 2,000 random damages of each kind.
import { generateKeyPairSync, sign } from "node:crypto";
import { expect, test } from "vitest";
import {
  AUDIT_HEAD_PAYLOAD_TYPE,
  canonicalJson,
  preAuthEncoding,
  type AuditRow,
} from "@aim/contract";
import { AUDIT_START, auditLine, verifyAudit, type AuditPlace, type AuditReport } from "@aim/sdk";
import { CHAIN_START, link } from "../../plane/audit/chain.ts";
import { createChance } from "../simulation/chance.ts";

const ROWS = 10_000;
const DAMAGES = 2_000;
/** Damages after which the whole export is read from its start; the others are read from where they begin. */
const WHOLE = 5;
const SEED = 20_260_501;

function makeRows(): AuditRow[] {
  const rows: AuditRow[] = [];
  let end = CHAIN_START;
  for (let made = 0; made < ROWS; made += 1) {
    const row = link(end, {
      who: made % 7 === 0 ? null : { kind: "user", id: `u${made % 13}`, name: "Zo\u00eb \u2028" },
      action: made % 3 === 0 ? "job.execute" : "job.cancel",
      customer: made % 5 === 0 ? null : "acme",
      outcome: made % 11 === 0 ? "refused" : "allowed",
      what: { revision: String(made % 10).repeat(64) },
      detail: made % 11 === 0 ? { code: "not_permitted", route: "job" } : {},
      now: 1_800_000_000_000 + made,
    });
    rows.push(row);
    end = row;
  }
  return rows;
}

const rows = makeRows();
const lines = rows.map(auditLine);
const chance = createChance(SEED);
const keys = generateKeyPairSync("ed25519");
const pem = keys.publicKey.export({ type: "spki", format: "pem" }).toString();

function sealedHead({ position, hash }: AuditPlace): string {
  const payload = Buffer.from(canonicalJson({ position, hash, at: "2026-01-01T00:00:00.000000Z" }));
  const sig = sign(null, preAuthEncoding(AUDIT_HEAD_PAYLOAD_TYPE, payload), keys.privateKey);
  return canonicalJson({
    payloadType: AUDIT_HEAD_PAYLOAD_TYPE,
    payload: payload.toString("base64"),
    signatures: [{ keyid: "0".repeat(64), sig: sig.toString("base64") }],
  });
}

const lastRow = rows.at(-1) as AuditRow;
const head = sealedHead(lastRow);

interface Damaged {
  /** Index of the first line that is not what it was. */
  readonly first: number;
  readonly lines: readonly string[];
}

const any = (count: number): number => Math.floor(chance.upTo(count));

function edited(): Damaged {
  const first = any(ROWS);
  const line = lines[first] ?? "";
  const at = any(line.length);
  const other = String.fromCharCode((line.charCodeAt(at) ^ (1 + any(127))) & 0x7f);
  return { first, lines: lines.with(first, line.slice(0, at) + other + line.slice(at + 1)) };
}

/** Somebody who knows the form writes another fact and a hash that fits the row. */
function forged(): Damaged {
  const first = any(ROWS);
  const before = rows[first - 1] ?? CHAIN_START;
  const forgedRow = link(before, {
    who: { kind: "user", id: "mallory", name: "Mallory" },
    action: "job.read",
    customer: "acme",
    outcome: "allowed",
    what: {},
    detail: {},
    now: 1_900_000_000_000,
  });
  return { first, lines: lines.with(first, auditLine(forgedRow)) };
}

function deleted(): Damaged {
  const first = any(ROWS);
  return { first, lines: lines.toSpliced(first, 1) };
}

function inserted(): Damaged {
  const first = any(ROWS + 1);
  return { first, lines: lines.toSpliced(first, 0, lines[any(ROWS)] ?? "") };
}

function swapped(): Damaged {
  const one = any(ROWS);
  const other = (one + 1 + any(ROWS - 1)) % ROWS;
  const changed = lines.with(one, lines[other] ?? "").with(other, lines[one] ?? "");
  return { first: Math.min(one, other), lines: changed };
}

function truncated(): Damaged {
  const first = any(ROWS);
  return { first, lines: lines.slice(0, first) };
}

const placeBefore = (index: number): AuditPlace => rows[index - 1] ?? AUDIT_START;

async function look({ first, lines: damaged }: Damaged, whole: boolean): Promise<AuditReport> {
  if (whole) return verifyAudit(damaged, { head });
  // What stands before the damage is untouched: its last row is the place from which to go on.
  const { position, hash } = placeBefore(first);
  return verifyAudit(damaged.slice(first), { head, after: { position, hash } });
}

test("an export without damage is whole, and its head vouches for its end", async () => {
  const report = await verifyAudit(lines, { head, pem });
  expect(report).toMatchObject({ finding: null, rows: ROWS, vouched: true });
});

test.for([
  ["edit", edited],
  ["edit with a hash that fits", forged],
  ["deletion", deleted],
  ["insertion", inserted],
  ["swap", swapped],
  ["truncation", truncated],
] as const)("every %s is found", async ([, damage]) => {
  const missed: string[] = [];
  for (let made = 0; made < DAMAGES; made += 1) {
    const damaged = damage();
    const report = await look(damaged, made < WHOLE);
    if (report.finding === null) missed.push(`seed ${SEED}, row ${damaged.first + 1}`);
  }
  expect(missed).toEqual([]);
});

test("without a head a cut end is not seen, and nobody is told that it was checked", async () => {
  const report = await verifyAudit(lines.slice(0, 500));
  expect(report).toMatchObject({ finding: null, rows: 500, head: null, vouched: false });
});

test("a head that was kept from an earlier export still holds later on", async () => {
  const early = rows[1_233] as AuditRow;
  expect((await verifyAudit(lines, { head: sealedHead(early), pem })).finding).toBeNull();
  const rewritten = [...lines.slice(0, 1_000), lines[0] ?? ""];
  const report = await verifyAudit(rewritten, { head: sealedHead(early) });
  expect(report.finding).toEqual({ code: "position_wrong", position: 1_001 });
});

test("a head under another key, or with another place in it, is refused", async () => {
  const other = generateKeyPairSync("ed25519").publicKey.export({ type: "spki", format: "pem" });
  const report = await verifyAudit(lines, { head, pem: other.toString() });
  expect(report).toMatchObject({ finding: { code: "signature_invalid" }, vouched: false });
  const moved = JSON.parse(head) as { payload: string };
  moved.payload = (JSON.parse(sealedHead(rows[0] as AuditRow)) as { payload: string }).payload;
  expect(await verifyAudit(lines, { head: canonicalJson(moved), pem })).toMatchObject({
    finding: { code: "signature_invalid" },
  });
});
