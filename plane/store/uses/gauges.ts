// What stands in the store right now, counted for whoever watches the installation. Reads only what is alive.
import type { Kysely } from "kysely";
import type { Schema } from "../schema.ts";
import { LIVE } from "./spelt-states.ts";

export interface Gauges {
  readonly attempts: readonly {
    readonly state: string;
    readonly job_type: string;
    readonly runner_kind: string | null;
    readonly count: number;
  }[];
  /** Of runners that were heard of. */
  readonly pool: readonly {
    readonly runner_kind: string;
    readonly runners: number;
    readonly slots: number;
  }[];
  readonly deliveries: {
    readonly waiting: number;
    readonly dead: number;
    /** Plane time since which the oldest waits; null where none does. */
    readonly waitingSince: number | null;
  };
}

/** `heardSince`: a runner that was not heard of since then counts no more. */
export async function readGauges(
  db: Kysely<Schema>,
  use: { readonly heardSince: number },
): Promise<Gauges> {
  const attempts = await db
    .selectFrom("attempts")
    .leftJoin("runners", "runners.id", "attempts.runner")
    .select(["attempts.state", "attempts.job_type", "runners.runner_kind"])
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("attempts.state", "in", LIVE)
    .groupBy(["attempts.state", "attempts.job_type", "runners.runner_kind"])
    .execute();
  const pool = await db
    .selectFrom("runners")
    .select("runner_kind")
    .select(({ fn }) => [
      fn.countAll<number>().as("runners"),
      // PostgreSQL sums integers to a bigint.
      fn.sum<number>("slots").as("slots"),
    ])
    .where("seen_ms", ">=", Math.round(use.heardSince))
    .groupBy("runner_kind")
    .execute();
  const deliveries = await db
    .selectFrom("deliveries")
    .select(["state"])
    .select(({ fn }) => [
      fn.countAll<number>().as("count"),
      fn.min<number | null>("since_ms").as("since"),
    ])
    .where("state", "in", ["waiting", "dead"])
    .groupBy("state")
    .execute();
  const waiting = deliveries.find(({ state }) => state === "waiting");
  return {
    attempts,
    pool,
    deliveries: {
      waiting: waiting?.count ?? 0,
      dead: deliveries.find(({ state }) => state === "dead")?.count ?? 0,
      waitingSince: waiting?.since ?? null,
    },
  };
}
