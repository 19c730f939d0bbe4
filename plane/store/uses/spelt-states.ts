// States as part of a statement's text: given as parameters, no prepared statement would find a partial index by them.
import { sql } from "kysely";
import { HELD_STATES, LIVE_STATES } from "@aim/contract";

export const QUEUED = sql.lit("queued");
export const LIVE = LIVE_STATES.map((state) => sql.lit(state));
export const HELD = HELD_STATES.map((state) => sql.lit(state));
