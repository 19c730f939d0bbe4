// A page of a run's events after a sequence, in order.
import type { Kysely } from "kysely";
import type { Schema } from "../schema.ts";

export interface ReadEvents {
  readonly attemptId: string;
  readonly after: number;
  readonly limit: number;
}

/** Events as the JSON text in which they are stored. */
export async function readEvents(
  db: Kysely<Schema>,
  use: ReadEvents,
): Promise<{ sequence: number; event: string }[]> {
  return db
    .selectFrom("events")
    .select(["sequence", "event"])
    .where("attempt_id", "=", use.attemptId)
    .where("sequence", ">", use.after)
    .orderBy("sequence")
    .limit(use.limit)
    .execute();
}
