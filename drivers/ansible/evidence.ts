// The proof an Ansible attempt leaves beside its events. Browser-safe.
import { Type } from "typebox";
import { ChangeEvidenceSchema, TargetSchema, TargetSummarySchema } from "@aim/contract";

export const AnsibleEvidenceSchema = Type.Object(
  {
    targets: Type.Array(TargetSchema),
    target_summary: TargetSummarySchema,
    change_evidence: Type.Array(ChangeEvidenceSchema),
  },
  { additionalProperties: false },
);
