// Revisions that wait to be executed, as whoever approves them reads them; and the administrator's switch.
import { Type, type Static } from "typebox";
import { Sha256Schema, TimestampSchema } from "./ids.ts";
import { NormalizedRequestSchema, ReviewSchema } from "./request.ts";

const closed = { additionalProperties: false } as const;

export const RevisionSchema = Type.Object(
  {
    revision: Sha256Schema,
    customer: Type.String(),
    playbook: Type.String(),
    /** Id of the principal that prepared it first. */
    prepared_by: Type.String(),
    prepared_at: TimestampSchema,
    expires_at: TimestampSchema,
    request: NormalizedRequestSchema,
    review: ReviewSchema,
  },
  closed,
);
export type RevisionView = Static<typeof RevisionSchema>;

export const ExecutionSettingSchema = Type.Object({ enabled: Type.Boolean() }, closed);
export type ExecutionSetting = Static<typeof ExecutionSettingSchema>;
