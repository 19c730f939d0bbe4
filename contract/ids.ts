// Names of durable things. An id is opaque to every client: a prefix and 26 characters of Crockford base 32.
import { Type, type Static } from "typebox";

const SUFFIX = "[0-9a-hjkmnp-tv-z]{26}";

export const JobIdSchema = Type.String({ pattern: `^job_${SUFFIX}$` });
/** An attempt's id. The Core operations call the same value `run_id`. */
export const AttemptIdSchema = Type.String({ pattern: `^run_${SUFFIX}$` });
export const RunnerInstanceIdSchema = Type.String({ pattern: `^rnr_${SUFFIX}$` });

/** An event that callbacks are told; the same one however often it is sent. */
export const EventIdSchema = Type.String({ pattern: `^evt_${SUFFIX}$` });

export const UserIdSchema = Type.String({ pattern: `^usr_${SUFFIX}$` });
export const TokenIdSchema = Type.String({ pattern: `^pat_${SUFFIX}$` });

/** What a control plane of its own calls the work; kept and given back, never read. */
export const CorrelationIdSchema = Type.String({ pattern: "^[A-Za-z0-9._:-]{1,128}$" });

export const ID_PREFIXES = [
  "job",
  "run",
  "rnr",
  "evt",
  "ins",
  "clm",
  "crd",
  "pln",
  "usr",
  "pat",
] as const;
export type IdPrefix = (typeof ID_PREFIXES)[number];

/** Lower-case hex of a SHA-256 digest. */
export const Sha256Schema = Type.String({ pattern: "^[0-9a-f]{64}$" });

/** Name of a customer or playbook in the catalog. */
export const CatalogIdSchema = Type.String({ pattern: "^[a-z0-9][a-z0-9_.-]{0,62}$" });

/** RFC 3339 in UTC with microseconds, as every stored and sent time is written. */
export const TimestampSchema = Type.String({
  pattern: "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{6}Z$",
});

export type Timestamp = Static<typeof TimestampSchema>;
