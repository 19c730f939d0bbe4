// The API as an OpenAPI 3.1 document, made of the route table and the schemas: nothing in it is written twice.
import { Type, type TSchema } from "typebox";
import { PrincipalSchema } from "./access.ts";
import { ExecutionSettingSchema, RevisionSchema } from "./approvals.ts";
import { AuditRowSchema, SealedAuditHeadSchema } from "./audit.ts";
import { CapabilitiesSchema, PRODUCT_VERSION, ReadinessSchema } from "./capabilities.ts";
import { DELIVERY_STATES, DeliverySchema } from "./callbacks.ts";
import { ProblemDetailsSchema } from "./errors.ts";
import { SealEnvelopeSchema, SealKeySchema } from "./evidence.ts";
import {
  AcceptedSchema,
  BundleSchema,
  JobRequestSchema,
  JobSchema,
  JOBS_PER_PAGE_MAX,
  KeptBundleSchema,
  RetryRequestSchema,
  RunnerSchema,
  UsageSchema,
} from "./jobs.ts";
import { JobIdSchema } from "./ids.ts";
import {
  CursorSchema,
  JOURNAL_MESSAGES,
  JOURNAL_PAGE_MAX,
  JournalPageSchema,
  JournalSnapshotSchema,
} from "./journal.ts";
import {
  AcceptanceSchema,
  BackupReportSchema,
  BackupRequestSchema,
  CredentialsSchema,
  ProjectSchema,
  RegisteredProjectSchema,
} from "./local.ts";
import {
  ErrorLineSchema,
  EventLineSchema,
  OPERATION_SCHEMAS,
  RESPONSE_SCHEMAS,
  RunStatusSchema,
} from "./operations.ts";
import { ROUTES, type Route, type RouteName } from "./routes/index.ts";
import {
  ClaimRequestSchema,
  CompletionSchema,
  EpochSchema,
  EventBatchSchema,
  GrantSchema,
  HeartbeatAnswerSchema,
  HeartbeatSchema,
  InspectionReportSchema,
  ManifestSchema,
  MoveSchema,
  RegisteredSchema,
  RegisterSchema,
  UploadedSchema,
} from "./runner-protocol.ts";
import { AttemptStateSchema } from "./states.ts";
import { SsoCodeSchema, SsoWaiterSchema } from "./sso.ts";
import {
  LoggedInSchema,
  LoginSchema,
  MadeTokenSchema,
  NewTokenSchema,
  NewUserSchema,
  PasswordChangeSchema,
  SetupSchema,
  TokenSchema,
  UserChangeSchema,
  UserCodeSchema,
  UserSchema,
} from "./users.ts";

/** A schema of JSON, `bytes`, plain `text`, a `page` for people, or the messages of a journal's stream. */
type Answer = TSchema | "bytes" | "events" | "page" | "text";

interface Shape {
  /** JSON body, or `bytes`. */
  readonly body?: TSchema | "bytes";
  /** Fields of a form that is sent instead. */
  readonly form?: TSchema;
  readonly query?: Readonly<Record<string, TSchema>>;
  /** What a success answers; absent for an empty answer. */
  readonly answer?: Answer;
  /** Answers are JSON lines `{"type":"response","response":…}`, events before them where there are any. */
  readonly lines?: boolean;
  readonly status?: number;
}

const nothing = Type.Object({}, { additionalProperties: false });
const sequence = Type.Integer({ minimum: 0 });

/** One row for each route: a route without one does not compile. */
const SHAPES: Readonly<Record<RouteName, Shape>> = {
  operations: {
    body: Type.Union(Object.values(OPERATION_SCHEMAS)),
    answer: Type.Union(Object.values(RESPONSE_SCHEMAS)),
    lines: true,
  },
  runEvents: { query: { after: sequence }, answer: RESPONSE_SCHEMAS.execute, lines: true },
  runList: { answer: Type.Array(RunStatusSchema) },
  artifactList: { answer: ManifestSchema },
  artifact: { answer: "bytes" },
  seal: { answer: SealEnvelopeSchema },
  sealKey: { answer: SealKeySchema },
  jobCreate: { body: JobRequestSchema, answer: AcceptedSchema, status: 201 },
  jobList: {
    query: {
      before: JobIdSchema,
      customer: Type.String(),
      state: AttemptStateSchema,
      limit: Type.Integer({ minimum: 1, maximum: JOBS_PER_PAGE_MAX }),
    },
    answer: Type.Array(JobSchema),
  },
  job: { answer: JobSchema },
  jobCancel: { answer: JobSchema },
  jobDelete: { status: 204 },
  journal: {
    query: { after: CursorSchema, limit: Type.Integer({ minimum: 1, maximum: JOURNAL_PAGE_MAX }) },
    answer: JournalPageSchema,
  },
  journalSnapshot: { answer: JournalSnapshotSchema },
  journalStream: { query: { after: CursorSchema }, answer: "events" },
  jobRetry: { body: RetryRequestSchema, answer: AcceptedSchema, status: 201 },
  sourceUpload: { body: "bytes", status: 204 },
  bundleCreate: { body: BundleSchema, answer: KeptBundleSchema, status: 201 },
  usage: { query: { after: sequence }, answer: Type.Array(UsageSchema) },
  runnerList: { answer: Type.Array(RunnerSchema) },
  runnerDrain: { answer: nothing },
  auditList: { query: { after: sequence }, answer: Type.Array(AuditRowSchema) },
  auditHead: { answer: SealedAuditHeadSchema },
  openapi: { answer: Type.Object({ openapi: Type.Literal("3.1.0") }) },
  login: { body: LoginSchema, answer: LoggedInSchema },
  setup: { body: SetupSchema, answer: LoggedInSchema },
  ssoStart: { query: SsoWaiterSchema.properties, status: 302 },
  ssoCallback: {
    query: { code: Type.String(), state: Type.String(), iss: Type.String(), error: Type.String() },
    answer: "page",
  },
  ssoRedeem: { body: SsoCodeSchema, answer: LoggedInSchema },
  ssoLogout: { form: Type.Object({ logout_token: Type.String() }) },
  logout: { answer: nothing },
  session: { answer: PrincipalSchema },
  passwordChange: { body: PasswordChangeSchema, answer: nothing },
  revisionList: { query: { waiting: Type.String() }, answer: Type.Array(RevisionSchema) },
  revision: { answer: RevisionSchema },
  approve: { answer: RevisionSchema },
  executionSetting: { body: ExecutionSettingSchema, answer: ExecutionSettingSchema },
  userList: { answer: Type.Array(UserSchema) },
  userCreate: { body: NewUserSchema, answer: UserCodeSchema, status: 201 },
  userChange: { body: UserChangeSchema, answer: UserSchema },
  passwordReset: { answer: UserCodeSchema },
  tokenList: { answer: Type.Array(TokenSchema) },
  tokenCreate: { body: NewTokenSchema, answer: MadeTokenSchema, status: 201 },
  tokenRevoke: { answer: nothing },
  health: { answer: Type.Object({ ok: Type.Literal(true) }) },
  ready: { answer: ReadinessSchema },
  metrics: { answer: "text" },
  credentials: {
    body: CredentialsSchema,
    answer: Type.Object({ credentials_id: Type.String() }),
  },
  project: { body: ProjectSchema, answer: RegisteredProjectSchema },
  acceptance: { body: AcceptanceSchema, answer: AcceptanceSchema },
  backup: { body: BackupRequestSchema, answer: BackupReportSchema },
  deliveryList: {
    query: { state: Type.Enum([...DELIVERY_STATES]) },
    answer: Type.Array(DeliverySchema),
  },
  deliveryReplay: { answer: nothing },
  register: { body: RegisterSchema, answer: RegisteredSchema, lines: true },
  claim: { body: ClaimRequestSchema, answer: GrantSchema, lines: true },
  heartbeat: { body: HeartbeatSchema, answer: HeartbeatAnswerSchema, lines: true },
  move: { body: MoveSchema, answer: HeartbeatAnswerSchema, lines: true },
  events: { body: EventBatchSchema, answer: nothing, lines: true },
  take: { body: EpochSchema, answer: CredentialsSchema, lines: true },
  upload: { body: "bytes", answer: UploadedSchema, lines: true },
  complete: {
    body: CompletionSchema,
    answer: Type.Object({ state: AttemptStateSchema }),
    lines: true,
  },
  blob: { answer: "bytes" },
  inspected: { body: InspectionReportSchema, answer: nothing, lines: true },
};

/** Schemas that are worth a name of their own. */
const NAMED: ReadonlyMap<TSchema, string> = new Map<TSchema, string>([
  [AcceptedSchema, "Accepted"],
  [AuditRowSchema, "AuditRow"],
  [BundleSchema, "Bundle"],
  [CapabilitiesSchema, "Capabilities"],
  [CompletionSchema, "Completion"],
  [DeliverySchema, "Delivery"],
  [JobRequestSchema, "JobRequest"],
  [JobSchema, "Job"],
  [JournalPageSchema, "JournalPage"],
  [JournalSnapshotSchema, "JournalSnapshot"],
  [ManifestSchema, "Manifest"],
  [PrincipalSchema, "Principal"],
  [ProblemDetailsSchema, "Problem"],
  [RetryRequestSchema, "RetryRequest"],
  [RevisionSchema, "Revision"],
  [RunnerSchema, "Runner"],
  [RunStatusSchema, "RunStatus"],
  [SealedAuditHeadSchema, "SealedAuditHead"],
  [SealEnvelopeSchema, "SealEnvelope"],
  [TokenSchema, "Token"],
  [UsageSchema, "Usage"],
  [UserSchema, "User"],
]);

type Document = Readonly<Record<string, unknown>>;

export function openApi(): Document {
  const paths: Record<string, Record<string, Document>> = {};
  for (const [name, route] of Object.entries(ROUTES) as [RouteName, Route][]) {
    const path = route.path.replaceAll(/:([a-z_0-9]+)/g, "{$1}");
    const operations = (paths[path] ??= {});
    operations[route.method.toLowerCase()] = operationOf(name, route, SHAPES[name]);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "AIM",
      version: PRODUCT_VERSION,
      description: "Typed jobs in single-use sandboxes. Runner routes are for runners only.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    paths,
    components: {
      schemas: Object.fromEntries([...NAMED].map(([schema, name]) => [name, schema])),
    },
  };
}

function operationOf(name: RouteName, route: Route, shape: Shape): Document {
  const inPath = [...route.path.matchAll(/:([a-z_0-9]+)/g)].map(([, key]) => ({
    name: key,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
  const inQuery = Object.entries(shape.query ?? {}).map(([key, schema]) => ({
    name: key,
    in: "query",
    required: false,
    schema,
  }));
  return {
    operationId: name,
    summary: route.does,
    tags: [route.face],
    parameters: [...inPath, ...inQuery],
    ...bodyOf(shape),
    responses: {
      [shape.status ?? 200]: {
        description: "Done.",
        ...(shape.answer === undefined
          ? {}
          : { content: contentOf(shape.answer, shape.lines ?? false) }),
      },
      default: {
        description: "Refused.",
        content: shape.lines === true ? linesOf(ErrorLineSchema) : problem,
      },
    },
  };
}

const problem = { "application/problem+json": { schema: refTo(ProblemDetailsSchema) } };

function bodyOf({ body, form }: Shape): Document {
  if (form !== undefined) {
    const content = { "application/x-www-form-urlencoded": { schema: form } };
    return { requestBody: { required: true, content } };
  }
  if (body === undefined) return {};
  return { requestBody: { required: true, content: contentOf(body, false) } };
}

function contentOf(what: Answer, lines: boolean): Document {
  if (what === "events") {
    // OpenAPI 3.1 has no words for the framing: these are the documents in the data of the messages, by event name.
    const messages = Object.entries(JOURNAL_MESSAGES).map(([name, schema]) => ({
      title: name,
      ...schema,
    }));
    return { "text/event-stream": { schema: { anyOf: messages } } };
  }
  if (what === "page") return { "text/html": { schema: { type: "string" } } };
  if (what === "text") return { "text/plain": { schema: { type: "string" } } };
  if (what === "bytes") {
    return { "application/octet-stream": { schema: { type: "string", format: "binary" } } };
  }
  if (!lines) return { "application/json": { schema: refTo(what) } };
  const response = Type.Object({ type: Type.Literal("response"), response: what });
  return linesOf(Type.Union([EventLineSchema, response, ErrorLineSchema]));
}

/** The schema of one line. */
function linesOf(line: TSchema): Document {
  return { "application/x-ndjson": { schema: line } };
}

function refTo(schema: TSchema): unknown {
  const name = NAMED.get(schema);
  if (name !== undefined) return { $ref: `#/components/schemas/${name}` };
  const { items } = schema as { items?: TSchema };
  return items === undefined ? schema : { ...schema, items: refTo(items) };
}
