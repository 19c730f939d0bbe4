// Every way in which AIM refuses a request. A code is stable for ever; its sentence is fixed and holds no data.
import { Type, type Static } from "typebox";

export const PROBLEMS = {
  malformed_json: [400, "The input is not one JSON object on one line."],
  duplicate_key: [400, "A key stands twice in one JSON object."],
  unknown_field: [400, "The request has a field that AIM does not know."],
  invalid_request: [400, "A field of the request is missing or has the wrong type or value."],
  unsupported_api_version: [400, 'This api_version is not supported; use "1.0".'],
  unknown_operation: [400, "There is no such operation; see capabilities."],
  request_too_large: [413, "The request is larger than AIM accepts."],
  unknown_customer: [404, "The catalog has no such customer."],
  unknown_playbook: [404, "The customer's catalog has no such playbook."],
  unknown_host: [422, "A requested host is not in the inventory."],
  duplicate_host: [422, "A host is requested twice."],
  no_hosts: [422, "No host is requested."],
  limit_no_match: [422, "The limit matches no host of the inventory."],
  variable_not_declared: [422, "The catalog entry does not declare this variable."],
  invalid_variables: [422, "The variables do not fit the schema of the catalog entry."],
  secret_in_variables: [
    422,
    "A variable looks like a secret. Secrets come from Vault or a private descriptor.",
  ],
  secret_in_inputs: [422, "An input looks like a secret value. Use a secret reference."],
  catalog_invalid: [500, "The catalog holds an entry that cannot be read. See aimctl doctor."],
  inventory_unreadable: [
    422,
    "The inventory could not be read in full; a part of it would be ignored.",
  ],
  inventory_empty: [422, "The inventory names no host."],
  playbook_not_found: [422, "The playbook file does not exist."],
  playbook_syntax: [
    422,
    "The playbook or a file it loads could not be parsed. Try ansible-playbook --syntax-check.",
  ],
  collection_missing: [
    422,
    "The playbook needs a collection that is not in the project or on the controller.",
  ],
  role_missing: [422, "The playbook needs a role that is not in the project."],
  module_missing: [
    422,
    "The playbook uses a module or action that is not installed on the controller.",
  ],
  vars_prompt_unsupported: [
    422,
    "The playbook asks questions with vars_prompt. Declare them as variables instead.",
  ],
  vault_password_missing: [
    422,
    "A file is vaulted as a whole: variables need a vault_password slot, playbooks and tasks cannot be reviewed.",
  ],
  content_unsupported: [422, "The project holds something other than regular files and folders."],
  content_too_large: [422, "The project has too many files or bytes."],
  destructive_not_marked: [422, "The content is destructive and the request does not say so."],
  stale_revision: [409, "What was reviewed is no longer what would run. Prepare and review again."],
  revision_used: [409, "This revision was already executed. Prepare and review again."],
  revision_expired: [409, "This revision is too old. Prepare and review again."],
  credential_missing: [422, "A credential slot of the request was not supplied."],
  credential_unknown: [422, "A supplied credential has no slot in the request."],
  credentials_unreadable: [422, "The credentials are not one JSON object from slot to text."],
  job_type_unknown: [422, "No driver offers this job type."],
  not_enabled: [403, "An administrator has switched execution off."],
  unauthenticated: [401, "The token is missing, unknown or has expired."],
  login_refused: [401, "The name or the password is wrong."],
  setup_refused: [401, "The one-time code is unknown, used or too old."],
  sso_off: [409, "This plane has no single sign-on. Log in with a name and a password."],
  sso_refused: [
    401,
    "The login did not begin here, took too long or was used before. Begin again.",
  ],
  sso_denied: [401, "The identity provider did not let you in."],
  sso_no_role: [403, "None of your groups has a role here. Ask whoever runs this plane."],
  sso_unavailable: [
    503,
    "The identity provider does not answer as it should. Try again later, or log in with a password.",
  ],
  logout_refused: [400, "This is no logout token of the identity provider, or one that was used."],
  too_many_requests: [429, "Too many tries. Wait and try again."],
  cross_site: [403, "The request does not come from this plane's own pages."],
  credential_in_url: [400, "An address must not hold a credential. Nothing was done."],
  password_refused: [
    422,
    "Choose another password: 8 to 128 characters, and none that everybody tries first.",
  ],
  name_taken: [409, "There is a user of this name."],
  roles_exceed: [403, "You cannot give a role that you do not have, or that nobody can have so."],
  roles_elsewhere: [409, "The identity provider decides the roles of this user."],
  approval_required: [409, "Somebody else has to approve this revision first."],
  approval_own: [403, "Whoever prepares or executes a revision cannot approve it."],
  not_permitted: [403, "You may not do this."],
  local_only: [403, "This operation is offered on the local socket only."],
  not_found: [404, "There is no such thing, or you may not see it."],
  idempotency_mismatch: [422, "This idempotency key was used with another request."],
  job_deleted: [410, "The job that this idempotency key made was deleted."],
  too_many_streams: [429, "Too many journals are followed at once. End one of them first."],
  idempotency_in_progress: [409, "A request with this idempotency key is in progress."],
  bundle_unknown: [422, "The bundle is not kept here. Upload its files and make it first."],
  bundle_incomplete: [422, "A file of the bundle is not kept here. Upload it first."],
  invalid_inputs: [422, "The inputs do not fit the schema of the job type."],
  secrets_unsupported: [422, "This plane cannot resolve secret references."],
  retry_refused: [409, "Another attempt of this job makes no sense. See its retry hint."],
  retry_unconfirmed: [
    409,
    "What the former attempt did is not fully known. Look at the targets, then confirm.",
  ],
  retry_too_early: [409, "A former holder might still reach a target. See safe_to_retry_at."],
  upload_offset: [409, "The chunk does not begin where the kept bytes end."],
  state_conflict: [409, "The attempt is not in a state that allows this."],
  lease_lost: [409, "The lease of this attempt has ended."],
  epoch_stale: [409, "Another lease holds this attempt."],
  terminal_conflict: [409, "The attempt has ended with another result."],
  digest_mismatch: [422, "The bytes do not have the digest that was named."],
  runner_unavailable: [503, "No runner is ready. See aimctl doctor."],
  shutting_down: [503, "The plane is shutting down and admits nothing."],
  storage_full: [507, "The plane's storage is full. Nothing was accepted."],
  internal: [500, "AIM met a fault of its own. It is in the service log."],
} as const satisfies Record<string, readonly [status: number, message: string]>;

export type ProblemCode = keyof typeof PROBLEMS;
export const PROBLEM_CODES = Object.keys(PROBLEMS) as readonly ProblemCode[];

export const ProblemSchema = Type.Object(
  {
    code: Type.Enum([...PROBLEM_CODES]),
    message: Type.String(),
    /** JSON Pointer of the field, or project path and line of the place, when there is one. */
    at: Type.Optional(Type.String()),
  },
  { additionalProperties: false },
);
export type Problem = Static<typeof ProblemSchema>;

export const PROBLEM_TYPE_PREFIX = "urn:aim:problem:";

/** RFC 9457, as every route answers that does not speak JSON lines. */
export const ProblemDetailsSchema = Type.Object(
  {
    type: Type.String(),
    title: Type.String(),
    status: Type.Integer({ minimum: 400, maximum: 599 }),
    code: Type.Enum([...PROBLEM_CODES]),
    at: Type.Optional(Type.String()),
  },
  { additionalProperties: false },
);
export type ProblemDetails = Static<typeof ProblemDetailsSchema>;

/** The one exception class for a refused request. Recognise it by `code`, never by `instanceof` across packages. */
export class AimError extends Error {
  override readonly name = "AimError";
  readonly code: ProblemCode;
  readonly at: string | undefined;

  constructor(code: ProblemCode, at?: string, options?: ErrorOptions) {
    super(PROBLEMS[code][1], options);
    this.code = code;
    this.at = at;
  }

  get status(): number {
    return PROBLEMS[this.code][0];
  }

  toProblem(): Problem {
    const problem: Problem = { code: this.code, message: this.message };
    return this.at === undefined ? problem : { ...problem, at: this.at };
  }
}

export function isProblemCode(value: unknown): value is ProblemCode {
  return typeof value === "string" && Object.hasOwn(PROBLEMS, value);
}
