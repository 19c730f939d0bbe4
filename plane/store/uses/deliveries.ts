// Deliveries to callbacks: taken by one plane for a while, settled, listed, and sent again when somebody asks.
import type { Expression, ExpressionBuilder, Kysely, SqlBool } from "kysely";
import type { Delivery, DeliveryError, DeliveryState } from "@aim/contract";
import type { Schema } from "../schema.ts";
import type { Write } from "../transaction.ts";
import { writeAudit, type Audited } from "./audit.ts";

export interface ClaimDeliveries {
  /** The process that takes them. */
  readonly claimedBy: string;
  readonly now: number;
  /** From then on they are anybody's again: their holder is dead. */
  readonly until: number;
  readonly limit: number;
}

export interface ClaimedDelivery {
  readonly eventId: string;
  readonly callbackIndex: number;
  readonly url: string;
  readonly body: string;
  /** Tries before this one. */
  readonly tries: number;
  readonly since: number;
  readonly claimedBy: string;
  readonly claimedUntil: number;
}

/** Takes what is due, longest due first. What another plane is taking right now is left to it. */
export async function claimDeliveries(
  write: Write,
  use: ClaimDeliveries,
): Promise<ClaimedDelivery[]> {
  const now = Math.round(use.now);
  const claimedUntil = Math.round(use.until);
  const due = write.db
    .selectFrom("deliveries")
    .select(["event_id", "callback_index", "url", "tries", "since_ms"])
    .where("state", "=", "waiting")
    .where("next_try_ms", "<=", now)
    .where((build) =>
      build.or([build("claimed_until_ms", "is", null), build("claimed_until_ms", "<=", now)]),
    )
    .where(isFirst)
    .orderBy("next_try_ms")
    .orderBy("event_id")
    .limit(use.limit);
  const claimed: ClaimedDelivery[] = [];
  for (const row of await write.rows.holdFree(due).execute()) {
    const { event_id: eventId, callback_index: callbackIndex, url, tries, since_ms: since } = row;
    await write.db
      .updateTable("deliveries")
      .set({ claimed_by: use.claimedBy, claimed_until_ms: claimedUntil })
      .where("event_id", "=", eventId)
      .where("callback_index", "=", callbackIndex)
      .execute();
    const { body } = await write.db
      .selectFrom("outbox")
      .select("body")
      .where("id", "=", eventId)
      .executeTakeFirstOrThrow();
    const claim = { claimedBy: use.claimedBy, claimedUntil };
    claimed.push({ eventId, callbackIndex, url, body, tries, since, ...claim });
  }
  return claimed;
}

/** A callback hears of one attempt in order: nothing is sent before what came earlier is delivered or given up. */
function isFirst(build: ExpressionBuilder<Schema, "deliveries">): Expression<SqlBool> {
  const earlier = build
    .selectFrom("deliveries as earlier")
    .select("earlier.event_id")
    .whereRef("earlier.attempt_id", "=", "deliveries.attempt_id")
    .whereRef("earlier.callback_index", "=", "deliveries.callback_index")
    .whereRef("earlier.sequence", "<", "deliveries.sequence")
    .where("earlier.state", "=", "waiting");
  return build.not(build.exists(earlier));
}

export interface SettleDelivery {
  readonly delivery: Pick<
    ClaimedDelivery,
    "eventId" | "callbackIndex" | "claimedBy" | "claimedUntil"
  >;
  readonly status: number | null;
  /** Null for a delivery that the receiver took. */
  readonly error: DeliveryError | null;
  /** When it is tried again; null gives it up. Without meaning for one that was taken. */
  readonly nextTry: number | null;
}

/** Answers whether it was settled. A failure counts only for the holder of the claim; a success is a fact. */
export async function settleDelivery({ db }: Write, use: SettleDelivery): Promise<boolean> {
  const { delivery, status, error, nextTry } = use;
  const state: DeliveryState = error === null ? "delivered" : nextTry === null ? "dead" : "waiting";
  let change = db
    .updateTable("deliveries")
    .set(({ eb }) => ({
      state,
      tries: eb("tries", "+", 1),
      last_status: status,
      last_error: error,
      claimed_by: null,
      claimed_until_ms: null,
      ...(nextTry === null ? {} : { next_try_ms: Math.round(nextTry) }),
    }))
    .where("event_id", "=", delivery.eventId)
    .where("callback_index", "=", delivery.callbackIndex)
    .where("state", "=", "waiting");
  if (error !== null) {
    change = change
      .where("claimed_by", "=", delivery.claimedBy)
      .where("claimed_until_ms", "=", delivery.claimedUntil);
  }
  return (await change.executeTakeFirst()).numUpdatedRows === 1n;
}

/** When the next delivery becomes due, or null while none can. */
export async function nextDeliveryAt(db: Kysely<Schema>): Promise<number | null> {
  const row = await db
    .selectFrom("deliveries")
    .select((build) => {
      // What is taken comes back when its claim is over.
      const due = build.fn.coalesce("claimed_until_ms", "next_try_ms");
      return build.fn.min<number | null>(due).as("at");
    })
    .where("state", "=", "waiting")
    .where(isFirst)
    .executeTakeFirst();
  return row?.at ?? null;
}

export interface StoredDelivery {
  readonly eventId: string;
  readonly callbackIndex: number;
  readonly attemptId: string;
  readonly sequence: number;
  readonly type: Delivery["type"];
  readonly url: string;
  readonly state: DeliveryState;
  readonly tries: number;
  readonly created: number;
  readonly nextTry: number;
  readonly lastStatus: number | null;
  readonly lastError: DeliveryError | null;
}

/** The newest first; all of them for a state of null. */
export async function listDeliveries(
  db: Kysely<Schema>,
  use: { readonly state: DeliveryState | null; readonly limit: number },
): Promise<StoredDelivery[]> {
  let query = db
    .selectFrom("deliveries")
    .innerJoin("outbox", "outbox.id", "deliveries.event_id")
    .selectAll("deliveries")
    .select(["outbox.type", "outbox.created_ms"]);
  if (use.state !== null) query = query.where("deliveries.state", "=", use.state);
  const rows = await query
    .orderBy("outbox.created_ms", "desc")
    .orderBy("deliveries.sequence", "desc")
    .orderBy("deliveries.callback_index")
    .limit(use.limit)
    .execute();
  return rows.map((row) => ({
    eventId: row.event_id,
    callbackIndex: row.callback_index,
    attemptId: row.attempt_id,
    sequence: row.sequence,
    type: row.type as Delivery["type"],
    url: row.url,
    state: row.state as DeliveryState,
    tries: row.tries,
    created: row.created_ms,
    nextTry: row.next_try_ms,
    lastStatus: row.last_status,
    lastError: row.last_error as DeliveryError | null,
  }));
}

export interface ReplayDelivery extends Audited {
  readonly eventId: string;
  readonly callbackIndex: number;
  readonly now: number;
}

/** Sends a delivery that was given up again, with all its time before it. */
export async function replayDelivery(
  write: Write,
  use: ReplayDelivery,
): Promise<"not_found" | "state_conflict" | null> {
  const found = await write.rows
    .hold(
      write.db
        .selectFrom("deliveries")
        .select("state")
        .where("event_id", "=", use.eventId)
        .where("callback_index", "=", use.callbackIndex),
    )
    .executeTakeFirst();
  if (found === undefined) return "not_found";
  if (found.state !== "dead") return "state_conflict";
  const now = Math.round(use.now);
  await write.db
    .updateTable("deliveries")
    .set({ state: "waiting", tries: 0, since_ms: now, next_try_ms: now })
    .where("event_id", "=", use.eventId)
    .where("callback_index", "=", use.callbackIndex)
    .execute();
  await writeAudit(write, use.audit);
  return null;
}
