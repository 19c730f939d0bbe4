// Whether the time of an answer tells what its words do not: absent users, tokens that are nearly right, foreign jobs.
// Asked inside the process, where no network blurs the difference.
import { join } from "node:path";
import { rmSync } from "node:fs";
import { type Principal } from "@aim/contract";
import { createPasswords } from "../plane/auth/passwords.ts";
import { hashOf, newApiToken } from "../plane/auth/secrets.ts";
import { createClock } from "../plane/base/clock.ts";
import { newId } from "../plane/base/ids.ts";
import { createLogins } from "../plane/core/logins.ts";
import { findJob } from "../plane/core/rights.ts";
import { openSqliteStore } from "../plane/store/dialects/sqlite/store.ts";
import { makeFolder } from "../tests/harness/plane.ts";
import { aUser, DIGEST, SPEC } from "../tests/store/samples.ts";
import { accept, fail, HOUR_MS } from "./queue-store.ts";
import { percentile } from "./statistics.ts";

const PASSWORDS_TRIED = 300;
const ASKED = 5_000;
const WARM_UP = 50;
const DIFFERENCE_MS = 1;
const CHANCE_LEAST = 0.01;
const PASSWORD = "a long enough password";

interface TimesRow {
  readonly what: string;
  readonly n: number;
  readonly one_median_ms: number;
  readonly other_median_ms: number;
  /** Chance that two equal distributions differ this much; Kolmogorov and Smirnov. */
  readonly chance: number;
}

type Ask = () => Promise<unknown>;

async function timeOf(ask: Ask): Promise<number> {
  const begun = performance.now();
  await ask().catch(() => undefined);
  return performance.now() - begun;
}

/** Both in turn, so that a load that comes and goes falls on both. */
async function compare(what: string, n: number, [one, other]: readonly [Ask, Ask]) {
  const times: readonly [number[], number[]] = [[], []];
  for (let turn = -Math.min(WARM_UP, n / 10); turn < n; turn += 1) {
    const first = turn % 2;
    for (const which of [first, 1 - first]) {
      const took = await timeOf(which === 0 ? one : other);
      if (turn >= 0) times[which === 0 ? 0 : 1].push(took);
    }
  }
  return {
    what,
    n,
    one_median_ms: percentile(times[0], 0.5),
    other_median_ms: percentile(times[1], 0.5),
    chance: chanceOfEqual(times[0], times[1]),
  };
}

/** Two-sided, by the usual series; both samples have the same size. */
function chanceOfEqual(one: readonly number[], other: readonly number[]): number {
  const marked = [...one.map((time) => [time, 1]), ...other.map((time) => [time, -1])] as const;
  let [sum, most] = [0, 0];
  for (const [, side = 0] of marked.toSorted(([a = 0], [b = 0]) => a - b)) {
    sum += side;
    most = Math.max(most, Math.abs(sum));
  }
  const root = Math.sqrt(one.length / 2);
  const lambda = (root + 0.12 + 0.11 / root) * (most / one.length);
  let chance = 0;
  for (let k = 1; k <= 100; k += 1)
    chance += (k % 2 === 1 ? 2 : -2) * Math.exp(-2 * (k * lambda) ** 2);
  return Math.min(1, Math.max(0, chance));
}

export async function answerTimes(): Promise<TimesRow[]> {
  const folder = makeFolder("bench-answers");
  const store = await openSqliteStore(join(folder, "aim.sqlite"), fail);
  try {
    const clock = createClock();
    const passwords = createPasswords();
    const logins = createLogins({ store, clock, newId, passwords });
    const user = aUser("alice", { id: newId("usr"), passwordHash: await passwords.hash(PASSWORD) });
    await store.createUser(user);
    const login = (name: string) => () => logins.login({ name, password: "a wrong one" }, null);

    const id = newId("pat");
    const token = newApiToken(id);
    const now = clock.now();
    const kept = { id, hash: hashOf(token), name: "t", userId: user.id, service: null, roles: [] };
    const times = { created: now, expires: now + HOUR_MS, lastUsed: now, revoked: null };
    await store.saveToken({ ...kept, ...times });
    const nearly = newApiToken(id);
    const strange = newApiToken(newId("pat"));
    const identify = (text: string) => () => logins.identify({ token: text });

    await store.saveBundle({ customer: SPEC.customer, digest: DIGEST, files: [] });
    const { jobId: foreign } = await accept(store, now);
    const who: Principal = {
      kind: "user",
      id: user.id,
      name: user.name,
      roles: [{ role: "viewer", customer: "elsewhere", job_types: null }],
    };
    const read = (jobId: string) => () => findJob(store, { who, action: "job.read", jobId });
    return [
      await compare("a wrong password of a user, of nobody", PASSWORDS_TRIED, [
        login(user.name),
        login("nobody"),
      ]),
      await compare("a wrong secret of a token, of none", ASKED, [
        identify(nearly),
        identify(strange),
      ]),
      await compare("a job of another customer, a missing one", ASKED, [
        read(foreign),
        read(newId("job")),
      ]),
    ];
  } finally {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

export function answerTable(rows: readonly TimesRow[]): string {
  const lines = rows.map((row) => {
    const [one, other] = [row.one_median_ms.toFixed(3), row.other_median_ms.toFixed(3)];
    return `| ${row.what} | ${row.n} | ${one} | ${other} | ${row.chance.toFixed(3)} |`;
  });
  const verdicts = rows.map((row) => {
    const apart = Math.abs(row.one_median_ms - row.other_median_ms);
    const near = apart < DIFFERENCE_MS ? "holds" : "does not hold";
    const equal = row.chance > CHANCE_LEAST ? "holds" : "does not hold";
    return `- Target, ${row.what}: medians within ${DIFFERENCE_MS} ms ${near} (${apart.toFixed(3)} ms); chance above ${CHANCE_LEAST} ${equal}.`;
  });
  return [
    "| asked for | times each | median ms, the one | median ms, the other | chance of being equal |",
    "|---|---|---|---|---|",
    ...lines,
    "",
    ...verdicts,
  ].join("\n");
}
