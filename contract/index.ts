// The door of the contract: what plane, runners, drivers and clients agree on. Browser-safe; knows no machine.
export {
  ACTIONS,
  ACTION_NAMES,
  CUSTOMER_ADMIN_ACTIONS,
  GrantedRoleSchema,
  LOCAL_PRINCIPAL_ID,
  NOT_FOR_ADMINS,
  PRINCIPAL_KINDS,
  PrincipalSchema,
  ROLES,
  RoleSchema,
} from "./access.ts";
export type { Action, GrantedRole, Principal, PrincipalKind, Reach, Role } from "./access.ts";
export { ExecutionSettingSchema, RevisionSchema } from "./approvals.ts";
export type { ExecutionSetting, RevisionView } from "./approvals.ts";
export {
  AUDIT_GENESIS,
  AUDIT_HEAD_PAYLOAD_TYPE,
  AUDIT_OUTCOMES,
  AUDIT_PER_PAGE_MAX,
  AuditDetailSchema,
  AuditFactsSchema,
  AuditHeadSchema,
  AuditObjectSchema,
  AuditRowSchema,
  SealedAuditHeadSchema,
  auditFactsOf,
  auditText,
} from "./audit.ts";
export type {
  AuditDetail,
  AuditFacts,
  AuditHead,
  AuditObject,
  AuditRow,
  SealedAuditHead,
} from "./audit.ts";
export {
  CALLBACKS_MAX,
  CALLBACK_CONTENT_TYPE,
  CALLBACK_EVENTS,
  CALLBACK_SOURCE,
  CallbackEventSchema,
  CallbackSchema,
  DELIVERY_ERRORS,
  DELIVERY_STATES,
  DeliverySchema,
  callbackType,
} from "./callbacks.ts";
export type {
  Callback,
  CallbackEvent,
  CallbackEventName,
  Delivery,
  DeliveryError,
  DeliveryState,
} from "./callbacks.ts";
export { canonicalJson } from "./canonical-json.ts";
export type { Json } from "./canonical-json.ts";
export {
  ANSIBLE_CORE_VERSION,
  CapabilitiesSchema,
  PRODUCT_VERSION,
  QUALIFICATIONS,
  ReadinessSchema,
  executionProgress,
} from "./capabilities.ts";
export type { Capabilities, Qualification, Readiness } from "./capabilities.ts";
export {
  AimError,
  PROBLEMS,
  PROBLEM_CODES,
  PROBLEM_TYPE_PREFIX,
  ProblemDetailsSchema,
  ProblemSchema,
  isProblemCode,
} from "./errors.ts";
export type { Problem, ProblemCode, ProblemDetails } from "./errors.ts";
export {
  COUNT_NAMES,
  CountsSchema,
  DETAIL_EVENT_KINDS,
  DETAIL_SCHEMA,
  EVENT_SCHEMAS,
  EVENT_SEQUENCE_MAX,
  EVENT_VERSION,
  HOST_CODE_POINTS_MAX,
  HostStatusSchema,
  LABEL_BYTES_MAX,
  LABEL_CODE_POINTS_MAX,
  RunEventSchema,
  STAGES,
} from "./events.ts";
export type { Counts, EventBody, EventKind, HostStatus, RunEvent, RunEventOf } from "./events.ts";
export {
  EVIDENCE_PLACES,
  EVIDENCE_PREDICATE_TYPE,
  EvidencePredicateSchema,
  EvidenceStatementSchema,
  SEAL_PAYLOAD_TYPE,
  STATEMENT_TYPE,
  SealEnvelopeSchema,
  SealKeySchema,
  SubjectSchema,
  haveOwnPlaces,
  preAuthEncoding,
} from "./evidence.ts";
export type {
  EvidencePredicate,
  EvidenceStatement,
  SealEnvelope,
  SealKey,
  Subject,
} from "./evidence.ts";
export {
  CAUSE_ADVICE,
  CAUSE_CODES,
  CauseCodeSchema,
  HINT_CODES,
  HINT_MESSAGES,
  HintCodeSchema,
  HostErrorSchema,
  hostError,
} from "./hints.ts";
export type { CauseCode, HintCode, HostError } from "./hints.ts";
export {
  AttemptIdSchema,
  CatalogIdSchema,
  CorrelationIdSchema,
  EventIdSchema,
  ID_PREFIXES,
  JobIdSchema,
  RunnerInstanceIdSchema,
  Sha256Schema,
  TimestampSchema,
  TokenIdSchema,
  UserIdSchema,
} from "./ids.ts";
export type { IdPrefix, Timestamp } from "./ids.ts";
export {
  API_VERSION,
  BUNDLE_BYTES_MAX,
  BUNDLE_FILES_MAX,
  BUNDLE_FILE_BYTES_MAX,
  BUNDLE_PATH_BYTES_MAX,
  BundleFileSchema,
  IdempotencyKeySchema,
  JobSpecSchema,
  RunnerRequirementsSchema,
  SecretReferenceSchema,
  SecretSchema,
  SlotNameSchema,
} from "./job-spec.ts";
export type { BundleFile, JobSpec, RunnerRequirements } from "./job-spec.ts";
export {
  AcceptedSchema,
  AttemptSchema,
  BundleSchema,
  JOBS_PER_PAGE_MAX,
  JOB_BYTES_MAX,
  JobRequestSchema,
  JobSchema,
  KeptBundleSchema,
  RETRY_REASONS,
  RUNNER_STATES,
  RetryHintSchema,
  RetryRequestSchema,
  RunnerSchema,
  USAGE_PER_PAGE_MAX,
  UsageSchema,
} from "./jobs.ts";
export type {
  AcceptedJob,
  AttemptView,
  Bundle,
  JobRequest,
  JobView,
  KeptBundle,
  RetryHint,
  RetryReason,
  RetryRequest,
  RunnerState,
  RunnerView,
  Usage,
} from "./jobs.ts";
export {
  CAPTURE_STATES,
  CheckpointSchema,
  CoverageSchema,
  CursorSchema,
  GAP_REASONS,
  JOURNAL_BATCH_MAX,
  JOURNAL_MESSAGES,
  JOURNAL_PAGE,
  JOURNAL_PAGE_MAX,
  JOURNAL_STREAMS,
  JournalGapSchema,
  JournalPageSchema,
  JournalRecordSchema,
  JournalSnapshotSchema,
  LOSS_REASONS,
  MatrixSchema,
  RESET_REASONS,
} from "./journal.ts";
export type {
  CaptureState,
  Coverage,
  JournalCheckpoint,
  JournalGap,
  JournalMatrix,
  JournalMessage,
  JournalMessageName,
  JournalPage,
  JournalRecord,
  JournalSnapshot,
  LossReason,
  ResetReason,
} from "./journal.ts";
export {
  AcceptanceSchema,
  BackupReportSchema,
  BackupRequestSchema,
  CREDENTIAL_SLOTS,
  CredentialsSchema,
  ProjectSchema,
  RegisteredProjectSchema,
} from "./local.ts";
export type { BackupReport, BackupRequest } from "./local.ts";
export type {
  Acceptance,
  CredentialSlot,
  Credentials,
  Project,
  RegisteredProject,
} from "./local.ts";
export { openApi } from "./openapi.ts";
export {
  ErrorLineSchema,
  EventLineSchema,
  OPERATION_BYTES_MAX,
  OPERATION_NAMES,
  OPERATION_SCHEMAS,
  RESPONSE_SCHEMAS,
  RunStatusSchema,
} from "./operations.ts";
export type {
  Operation,
  OperationName,
  OperationOf,
  ResponseOf,
  RunStatus,
  WireLine,
} from "./operations.ts";
export {
  ChangeEvidenceSchema,
  JournalSummarySchema,
  OutcomeSchema,
  RUN_ERRORS,
  RUN_ERROR_CODES,
  RunErrorSchema,
  RunResultSchema,
  TARGET_OUTCOMES,
  TARGET_OUTCOME_SCHEMA,
  TargetSchema,
  TargetSummarySchema,
  runError,
  summarize,
} from "./outcome.ts";
export type {
  ChangeEvidence,
  JournalSummary,
  Outcome,
  RunError,
  RunErrorCode,
  RunResult,
  Target,
  TargetOutcome,
  TargetSummary,
} from "./outcome.ts";
export {
  FINDINGS,
  FINDING_CODES,
  FindingSchema,
  HOSTS_MAX,
  NetworkRuleSchema,
  NormalizedRequestSchema,
  PROGRESS_MODES,
  PreparedSchema,
  ProgressModeSchema,
  ReviewSchema,
  RunRequestSchema,
} from "./request.ts";
export type {
  Finding,
  FindingCode,
  NetworkRule,
  NormalizedRequest,
  Prepared,
  Review,
  RunRequest,
} from "./request.ts";
export { ROUTES, pathOf } from "./routes/index.ts";
export type { Route, RouteName } from "./routes/index.ts";
export {
  ARTIFACT_PATH_PATTERN,
  ArtifactFileSchema,
  AttemptGrantSchema,
  ClaimRequestSchema,
  CompletionSchema,
  DrainGrantSchema,
  EVENTS_PER_BATCH_MAX,
  EpochSchema,
  EventBatchSchema,
  GrantSchema,
  HeartbeatAnswerSchema,
  HeartbeatSchema,
  InspectionGrantSchema,
  InspectionReportSchema,
  ManifestSchema,
  MoveSchema,
  RegisterSchema,
  RegisteredSchema,
  RuntimeFactsSchema,
  UPLOAD_CHUNK_BYTES_MAX,
  UploadedSchema,
} from "./runner-protocol.ts";
export type {
  ArtifactFile,
  AttemptGrant,
  ClaimRequest,
  Completion,
  EventBatch,
  Grant,
  Heartbeat,
  HeartbeatAnswer,
  InspectionGrant,
  Manifest,
  Move,
  Register,
  Registered,
  RuntimeFacts,
  Uploaded,
} from "./runner-protocol.ts";
export {
  ATTEMPT_STATES,
  ATTEMPT_TRANSITIONS,
  AttemptStateSchema,
  EffectSchema,
  EvidenceSchema,
  FAILURE_CATEGORIES,
  FailureCategorySchema,
  HELD_STATES,
  LIVE_STATES,
  RemoteWorkSchema,
  TERMINAL_STATES,
  isTerminal,
  mayMove,
} from "./states.ts";
export type { AttemptState, Effect, Evidence, FailureCategory, RemoteWork } from "./states.ts";
export { SsoCodeSchema, SsoWaiterSchema } from "./sso.ts";
export type { SsoCode, SsoWaiter } from "./sso.ts";
export { parseStrict } from "./strict-json.ts";
export {
  LoggedInSchema,
  LoginSchema,
  MadeTokenSchema,
  NewTokenSchema,
  NewUserSchema,
  PASSWORD_CODE_POINTS,
  PasswordChangeSchema,
  RolesSchema,
  SSO_TOKEN_TTL_S_MAX,
  ServiceNameSchema,
  SetupSchema,
  TOKEN_TTL_S,
  TokenSchema,
  UserChangeSchema,
  UserCodeSchema,
  UserNameSchema,
  UserSchema,
} from "./users.ts";
export type {
  LoggedIn,
  Login,
  MadeToken,
  NewToken,
  NewUser,
  PasswordChange,
  Setup,
  TokenView,
  UserChange,
  UserCode,
  UserView,
} from "./users.ts";
