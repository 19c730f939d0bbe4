// Every use of the database by name: what a store offers, whatever its dialect.
// `write` uses run in one transaction each; `read` uses see committed rows only.
import { appendEvents } from "./append-events.ts";
import { applyStep, reapAttempts } from "./apply-step.ts";
import { listRevisions, readApproval, saveApproval } from "./approvals.ts";
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
  readExecution,
  readMoment,
  readProject,
  saveAcceptance,
  saveMoment,
  saveProject,
  setExecution,
} from "./local-facts.ts";
import { deleteJob } from "./delete-job.ts";
import { readJournal } from "./journal-read.ts";
import { readJournalNames } from "./journal-names.ts";
import { readKnownJournals, readMatrixRows } from "./journal-snapshot.ts";
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
import { readRightsEpoch } from "./rights-epoch.ts";
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
import { endSession, openSession, readSession, touchSession } from "./sessions.ts";
import { readSetupCode, saveSetupCode, useSetupCode } from "./setup-codes.ts";
import { readSsoCode, useSsoCode } from "./sso-codes.ts";
import { ssoEnter } from "./sso-enter.ts";
import { saveSsoFlow, takeSsoFlow } from "./sso-flows.ts";
import { ssoLogout } from "./sso-logout.ts";
import { listTokens, readToken, revokeToken, saveToken, touchToken } from "./tokens.ts";
import { readUsage } from "./usage.ts";
import { anyUser, changeUser, createUser, listUsers, readUser, readUserByName } from "./users.ts";

export const WRITES = {
  appendEvents,
  applyStep,
  changeUser,
  claimDeliveries,
  claimNext,
  claimWaiting,
  createAttempt,
  createJob,
  deleteJob,
  createUser,
  drainRunner,
  endSession,
  grantGrace,
  openSession,
  putHeartbeat,
  readUsage,
  reapAttempts,
  recordAudit,
  replayDelivery,
  revokeToken,
  saveAcceptance,
  saveApproval,
  saveBundle,
  saveMoment,
  saveProject,
  saveRevision,
  saveRunner,
  saveSeal,
  saveSetupCode,
  saveSsoFlow,
  saveToken,
  setExecution,
  settleDelivery,
  ssoEnter,
  ssoLogout,
  takeSsoFlow,
  touchRunner,
  touchSession,
  touchToken,
  useSetupCode,
  useSsoCode,
} as const;

export const READS = {
  anyUser,
  brokenInvariants,
  countExecuted,
  dueAttempts,
  isAccepted,
  lastExecuted,
  listAttempts,
  listDeliveries,
  listJobs,
  listRevisions,
  listRunners,
  listTokens,
  listUsers,
  liveAttempts,
  nextDeliveryAt,
  readAccepted,
  readApproval,
  readAttempt,
  readAudit,
  readAuditEnd,
  readBundle,
  readEvents,
  readExecution,
  readGauges,
  readJob,
  readJournal,
  readJournalNames,
  readKnownJournals,
  readManifest,
  readMatrixRows,
  readMoment,
  readProject,
  readRetry,
  readRevision,
  readRightsEpoch,
  readSeal,
  readSession,
  readSetupCode,
  readSsoCode,
  readToken,
  readUser,
  readUserByName,
  referencedBlobs,
  unsealed,
} as const;
