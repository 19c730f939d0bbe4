// The SDK's door: a thin typed client of the plane. It holds no state and decides nothing.
import { createClientOver, type Client } from "./client.ts";
import { nodeTransport, type Address } from "./node-transport.ts";

export { createClientOver } from "./client.ts";
export type { AccessCalls } from "./access.ts";
export type { Client, Execution, RunLine, StreamOptions } from "./client.ts";
export { CLIENT_FAULTS, ClientError, isAimError, isClientError } from "./client-error.ts";
export type { ClientFaultCode } from "./client-error.ts";
export type { JobCalls, JobQuery } from "./jobs.ts";
export type { FollowJournal, JournalCalls, JournalQuery } from "./journal.ts";
export { AUDIT_FAULTS, AUDIT_START, auditLine, verifyAudit } from "./audit.ts";
export type { AuditFaultCode, AuditFinding, AuditPlace, AuditProof, AuditReport } from "./audit.ts";
export { EVIDENCE_FAULTS, evidenceInMemory, isSealKey, verifyEvidence } from "./evidence.ts";
export { readManifest } from "./evidence-documents.ts";
export type {
  EvidenceFaultCode,
  EvidenceFiles,
  EvidenceFinding,
  EvidenceReport,
} from "./evidence.ts";
export {
  EVENT_LINE_BYTES_MAX,
  LINE_BYTES_MAX,
  parseWireLine,
  readLines,
  readWire,
} from "./ndjson.ts";
export type { ReadLine } from "./ndjson.ts";
export type { Address } from "./node-transport.ts";
export type { Reconnection } from "./reconnection.ts";
export type { Answer, Call, Transport } from "./transport.ts";

/** A client of the plane behind a UNIX socket or an `http:`/`https:` address. Connects with the first call. */
export function createClient(address: Address): Client {
  return createClientOver(nodeTransport(address));
}
