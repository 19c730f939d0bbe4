// A state folder with everything that a right can be about, written before the plane that serves it starts.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { canonicalJson, ROLES, type GrantedRole, type Role } from "@aim/contract";
import { hashOf, newApiToken, newSessionId } from "../../plane/auth/secrets.ts";
import { newId } from "../../plane/base/ids.ts";
import { createBlobs, sha256 } from "../../plane/store/blobs.ts";
import { openSqliteStore } from "../../plane/store/dialects/sqlite/store.ts";
import type { Store } from "../../plane/store/store.ts";
import { aRegister } from "../harness/scripted-runner.ts";
import { aCompletion, aJob, anAttempt, DIGEST, SPEC } from "../store/samples.ts";

export const HOME = "acme";
export const ABROAD = "beta";
const BYTES = Buffer.from("an artifact");
const HOUR = 3_600_000;

/** Whose thing it is, seen from who asks. */
export type Which = "own" | "other" | "foreign" | "missing";
export const WHICH = ["own", "other", "foreign", "missing"] as const;

export interface Things {
  readonly job: string;
  readonly run: string;
  /** A job that a runner holds. */
  readonly held: string;
  readonly revision: string;
  readonly user: string;
  readonly token: string;
  readonly customer: string;
}

export interface Asker {
  readonly name: string;
  readonly id: string;
  readonly roles: readonly GrantedRole[];
  readonly cookie: string;
  /** A session that may end. */
  readonly spareCookie: string;
  readonly things: Readonly<Record<Which, Things>>;
}

export interface Seeded {
  readonly askers: readonly Asker[];
  readonly artifact: string;
  readonly runner: string;
  /** A user whom nothing else is about. */
  readonly bystander: string;
}

/** Who asks, and with which roles. What belongs to no customer is open to an auditor of all customers only. */
const ASKERS: readonly (readonly [string, readonly GrantedRole[]])[] = [
  ...ROLES.map((name) => [name, [role(name, name === "platform-admin" ? null : HOME)]] as const),
  ["auditor of all", [role("auditor", null)]],
  ["none", []],
];

export async function seed(stateDir: string): Promise<Seeded> {
  mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  const store = await openSqliteStore(join(stateDir, "aim.sqlite"), (error) => {
    throw error;
  });
  try {
    return await fill(store, stateDir);
  } finally {
    await store.close();
  }
}

async function fill(store: Store, stateDir: string): Promise<Seeded> {
  await createBlobs(join(stateDir, "blobs")).put(BYTES);
  const register = aRegister();
  await store.saveRunner({ register, name: "local", now: Date.now() });
  const somebody = await userWith(store, "somebody", [role("viewer", HOME)]);
  const stranger = await userWith(store, "stranger", [role("viewer", ABROAD)]);
  const bystander = await userWith(store, "bystander", []);
  const other = await thingsOf(store, somebody.id, HOME);
  const foreign = await thingsOf(store, stranger.id, ABROAD);
  const missing: Things = {
    job: newId("job"),
    run: newId("run"),
    held: newId("job"),
    revision: sha256("missing"),
    user: newId("usr"),
    token: newId("pat"),
    customer: "nowhere",
  };
  const askers: Asker[] = [];
  for (const [name, roles] of ASKERS) {
    const user = await userWith(store, `the-${name.replaceAll(" ", "-")}`, roles);
    const own = await thingsOf(store, user.id, HOME);
    askers.push({ ...user, name, roles, things: { own, other, foreign, missing } });
  }
  return {
    askers,
    artifact: sha256(BYTES),
    runner: register.runner_instance_id,
    bystander: bystander.id,
  };
}

function role(name: Role, customer: string | null): GrantedRole {
  return { role: name, customer, job_types: null };
}

async function userWith(store: Store, name: string, roles: readonly GrantedRole[]) {
  const now = Date.now();
  const id = newId("usr");
  const user = { id, name, roles, passwordHash: null, oidc: null, disabled: false };
  await store.createUser({ ...user, passwordChanged: now, created: now });
  const open = async () => {
    const session = newSessionId();
    await store.openSession({
      hash: hashOf(session),
      userId: id,
      created: now,
      lastSeen: now,
      idleExpires: now + HOUR,
      absoluteExpires: now + HOUR,
      replaces: null,
      passwordChanged: now,
    });
    return `aim=${session}`;
  };
  return { id, cookie: await open(), spareCookie: await open() };
}

/** An ended job with evidence, one under way, a revision that waits, and a token. */
async function thingsOf(store: Store, owner: string, customer: string): Promise<Things> {
  const { job, run } = await endedJob(store, owner, customer);
  const held = await claimedJob(store, owner, customer);
  const now = Date.now();
  const revision = sha256(`${owner} ${customer}`);
  const review = canonicalJson({ job_type: SPEC.job_type, approval: { required: true, by: null } });
  await store.saveRevision({
    bundleDigest: DIGEST,
    files: [],
    revision: {
      revision,
      customer,
      playbook: "site",
      request: "{}",
      prepared: "{}",
      created: now,
      expires: now + HOUR,
      usedBy: null,
      owner,
      review,
    },
  });
  const token = newId("pat");
  await store.saveToken({
    id: token,
    hash: hashOf(newApiToken(token)),
    name: "seeded",
    userId: owner,
    service: null,
    roles: [],
    created: now,
    expires: now + HOUR,
    lastUsed: null,
    revoked: null,
  });
  return { job, run, held: held.job, revision, user: owner, token, customer };
}

async function claimedJob(store: Store, owner: string, customer: string) {
  const now = Date.now();
  const key = newId("job");
  const spec = { ...SPEC, customer, idempotency_key: key };
  const job = { ...aJob(key), customer, owner, spec, created: now };
  await store.saveBundle({ customer, digest: DIGEST, files: [] });
  const attempt = anAttempt(job, { created: now, deadline: now + HOUR });
  await store.createJob({ job, attempt, revision: null });
  const claim = { runner: "rnr_1", claimId: newId("clm"), ttlMs: HOUR, now };
  const claimed = await store.claimNext({ ...claim, jobTypes: [SPEC.job_type] });
  return { job: job.id, run: claimed?.attempt.id ?? "" };
}

async function endedJob(store: Store, owner: string, customer: string) {
  const { job, run: attemptId } = await claimedJob(store, owner, customer);
  const now = Date.now();
  for (const to of ["preparing", "running", "finalizing"] as const) {
    await store.applyStep({ attemptId, command: { do: "move", epoch: 1, to }, now });
  }
  const completion = aCompletion(1);
  const files = [{ path: "log", kind: "log", sha256: sha256(BYTES), size: BYTES.length } as const];
  const manifest = { ...completion.manifest, attempt_id: attemptId, files: [...files] };
  const report = { verdict: "succeeded", effect: "complete", killConfirmed: true } as const;
  await store.applyStep({
    attemptId,
    now,
    command: { do: "complete", epoch: 1, report: { ...report, digest: "d" } },
    completion: { ...completion, manifest },
    manifestDigest: sha256(canonicalJson(manifest)),
  });
  return { job, run: attemptId };
}
