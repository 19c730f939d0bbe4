// Writes the contract as JSON Schema files to contract/schemas.
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as contract from "@aim/contract";
import { ROOT } from "./steps.ts";

const FOLDER = join(ROOT, "contract/schemas");

const SCHEMAS: Readonly<Record<string, object>> = {
  accepted: contract.AcceptedSchema,
  "audit-head": contract.AuditHeadSchema,
  "audit-row": contract.AuditRowSchema,
  bundle: contract.BundleSchema,
  "callback-event": contract.CallbackEventSchema,
  capabilities: contract.CapabilitiesSchema,
  delivery: contract.DeliverySchema,
  event: contract.RunEventSchema,
  "evidence-statement": contract.EvidenceStatementSchema,
  job: contract.JobSchema,
  "job-request": contract.JobRequestSchema,
  "job-spec": contract.JobSpecSchema,
  "journal-page": contract.JournalPageSchema,
  "journal-snapshot": contract.JournalSnapshotSchema,
  manifest: contract.ManifestSchema,
  "operation-cancel": contract.OPERATION_SCHEMAS.cancel,
  "operation-capabilities": contract.OPERATION_SCHEMAS.capabilities,
  "operation-execute": contract.OPERATION_SCHEMAS.execute,
  "operation-prepare": contract.OPERATION_SCHEMAS.prepare,
  "operation-status": contract.OPERATION_SCHEMAS.status,
  prepared: contract.PreparedSchema,
  problem: contract.ProblemSchema,
  "problem-details": contract.ProblemDetailsSchema,
  "retry-request": contract.RetryRequestSchema,
  "run-result": contract.RunResultSchema,
  "run-status": contract.RunStatusSchema,
  runner: contract.RunnerSchema,
  "runner-claim": contract.ClaimRequestSchema,
  "runner-completion": contract.CompletionSchema,
  "runner-event-batch": contract.EventBatchSchema,
  "runner-grant": contract.GrantSchema,
  "runner-heartbeat": contract.HeartbeatSchema,
  "runner-register": contract.RegisterSchema,
  "runner-registered": contract.RegisteredSchema,
  "sealed-audit-head": contract.SealedAuditHeadSchema,
  "seal-envelope": contract.SealEnvelopeSchema,
  "seal-key": contract.SealKeySchema,
  usage: contract.UsageSchema,
};

/** File name to text of every schema as it should stand. */
export function schemaFiles(): ReadonlyMap<string, string> {
  const documents = Object.entries(SCHEMAS).map(([name, schema]): [string, string] => {
    const document = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      title: name,
      ...schema,
    };
    return [`${name}.json`, `${JSON.stringify(document, null, 2)}\n`];
  });
  // Named by format, since it is no JSON Schema; too large to be read in any other way than by a program.
  return new Map([...documents, ["openapi.json", `${JSON.stringify(contract.openApi())}\n`]]);
}

/** Names of schema files that are missing, superfluous or different. */
export function staleSchemas(): string[] {
  const wanted = schemaFiles();
  const found = new Set(readdirSync(FOLDER));
  const differing = [...wanted].filter(
    ([name, text]) => !found.has(name) || readFileSync(join(FOLDER, name), "utf8") !== text,
  );
  const superfluous = [...found].filter((name) => !wanted.has(name));
  return [...differing.map(([name]) => name), ...superfluous];
}

function writeSchemas(): void {
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  for (const [name, text] of schemaFiles()) writeFileSync(join(FOLDER, name), text);
}

if (import.meta.main) writeSchemas();
