// Every use of the database by name: what a store offers, whatever its dialect.
// `write` uses run in one transaction each; `read` uses see committed rows only.
import { appendEvents } from "./append-events.ts";
import { applyStep } from "./apply-step.ts";
import { readAudit, readAuditEnd, recordAudit } from "./audit.ts";
import { brokenInvariants } from "./broken-invariants.ts";
import { claimNext, claimWaiting } from "./claim-next.ts";
import { createAttempt } from "./create-attempt.ts";
import { createJob } from "./create-job.ts";
import {
  claimDeliveries,
  listDeliveries,
  nextDeliveryAt,
  replayDelivery,
  settleDelivery,
} from "./deliveries.ts";
import { readGauges } from "./gauges.ts";
import { grantGrace } from "./grant-grace.ts";
import {
  isAccepted,
  readMoment,
  readProject,
  saveAcceptance,
  saveMoment,
  saveProject,
} from "./local-facts.ts";
import { putHeartbeat } from "./put-heartbeat.ts";
import {
  dueAttempts,
  listAttempts,
  liveAttempts,
  readAttempt,
  readManifest,
} from "./read-attempts.ts";
import { readEvents } from "./read-events.ts";
import { listJobs, readAccepted, readJob, readRetry } from "./read-jobs.ts";
import { referencedBlobs } from "./referenced-blobs.ts";
import { drainRunner, listRunners, saveRunner, touchRunner } from "./runners.ts";
import { readSeal, saveSeal, unsealed } from "./seals.ts";
import {
  countExecuted,
  lastExecuted,
  readBundle,
  readRevision,
  saveBundle,
  saveRevision,
} from "./revisions.ts";
import { readUsage } from "./usage.ts";

export const WRITES = {
  appendEvents,
  applyStep,
  claimDeliveries,
  claimNext,
  claimWaiting,
  createAttempt,
  createJob,
  drainRunner,
  grantGrace,
  putHeartbeat,
  readUsage,
  recordAudit,
  replayDelivery,
  saveAcceptance,
  saveBundle,
  saveMoment,
  saveProject,
  saveRevision,
  saveRunner,
  saveSeal,
  settleDelivery,
  touchRunner,
} as const;

export const READS = {
  brokenInvariants,
  countExecuted,
  dueAttempts,
  isAccepted,
  lastExecuted,
  listAttempts,
  listDeliveries,
  listJobs,
  listRunners,
  liveAttempts,
  nextDeliveryAt,
  readAccepted,
  readAttempt,
  readAudit,
  readAuditEnd,
  readBundle,
  readEvents,
  readGauges,
  readJob,
  readManifest,
  readMoment,
  readProject,
  readRetry,
  readRevision,
  readSeal,
  referencedBlobs,
  unsealed,
} as const;
