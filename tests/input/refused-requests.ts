// Requests that must be refused, each with its one code and the place that it names.
import type { ProblemCode } from "@aim/contract";
import { operationLine } from "../harness/wire.ts";

const RUN = "run_0123456789abcdefghjkmnpqrs";
const REVISION = "0".repeat(64);

export interface Refused {
  readonly what: string;
  readonly line: string;
  readonly code: ProblemCode;
  readonly at?: string;
}

function prepareLine(change: Record<string, unknown>): string {
  const request = { customer: "acme", playbook: "site", hosts: ["one"], ...change };
  return operationLine({ operation: "prepare", request });
}

function withVariables(variables: Record<string, unknown>): string {
  return prepareLine({ variables });
}

const normalized = {
  customer: "acme",
  playbook: "site",
  hosts: ["one"],
  progress_mode: "detail",
  check: false,
  destructive: false,
  variables: {},
};

const MALFORMED: readonly Refused[] = [
  { what: "a line that ends too early", line: '{"api_version":"1.0",', code: "malformed_json" },
  { what: "nothing", line: "", code: "malformed_json" },
  { what: "a list", line: '[{"api_version":"1.0"}]', code: "malformed_json" },
  { what: "a bare text", line: '"prepare"', code: "malformed_json" },
  { what: "a comment in JSON", line: '{"api_version":"1.0"} // yes', code: "malformed_json" },
  {
    what: "two objects",
    line: '{"api_version":"1.0","operation":"capabilities"}{}',
    code: "malformed_json",
  },
  {
    what: "levels without end",
    line: withVariables({ options: JSON.parse(`${'{"a":'.repeat(20)}1${"}".repeat(20)}`) }),
    code: "malformed_json",
  },
  {
    what: "a key that stands twice",
    line: '{"api_version":"1.0","operation":"capabilities","operation":"prepare"}',
    code: "duplicate_key",
    at: "operation",
  },
  {
    what: "a key that stands twice, once with an escape",
    line: '{"api_version":"1.0","operation":"capabilities","\\u006fperation":"prepare"}',
    code: "duplicate_key",
    at: "operation",
  },
  {
    what: "a key that stands twice far inside",
    line: prepareLine({}).replace('"customer"', '"variables":{"a":1,"a":2},"customer"'),
    code: "duplicate_key",
    at: "a",
  },
];

const SHAPES: readonly Refused[] = [
  {
    what: "another api_version",
    line: '{"api_version":"2.0","operation":"capabilities"}',
    code: "unsupported_api_version",
    at: "/api_version",
  },
  {
    what: "no api_version",
    line: '{"operation":"capabilities"}',
    code: "unsupported_api_version",
    at: "/api_version",
  },
  {
    what: "an operation that does not exist",
    line: operationLine({ operation: "destroy" }),
    code: "unknown_operation",
    at: "/operation",
  },
  {
    what: "an operation named like a member of every object",
    line: operationLine({ operation: "constructor" }),
    code: "unknown_operation",
    at: "/operation",
  },
  {
    what: "an unknown field beside the operation",
    line: operationLine({ operation: "capabilities", verbose: true }),
    code: "unknown_field",
    at: "/verbose",
  },
  {
    what: "an unknown field of the request",
    line: prepareLine({ diff: true }),
    code: "unknown_field",
    at: "/request/diff",
  },
  {
    what: "a field of the wrong type",
    line: prepareLine({ hosts: "one" }),
    code: "invalid_request",
    at: "/request/hosts",
  },
  {
    what: "a host that is a number",
    line: prepareLine({ hosts: ["one", 2] }),
    code: "invalid_request",
    at: "/request/hosts/1",
  },
  {
    what: "a missing field",
    line: operationLine({ operation: "prepare", request: { customer: "acme", playbook: "site" } }),
    code: "invalid_request",
    at: "/request/hosts",
  },
  {
    what: "a mode that does not exist",
    line: prepareLine({ progress_mode: "loud" }),
    code: "invalid_request",
    at: "/request/progress_mode",
  },
  {
    what: "a run id of another shape",
    line: operationLine({ operation: "status", run_id: "../../etc" }),
    code: "invalid_request",
    at: "/run_id",
  },
  {
    what: "a password beside the request",
    line: operationLine({
      operation: "execute",
      request: normalized,
      revision: REVISION,
      credentials: { ssh_password: "plain" },
    }),
    code: "unknown_field",
    at: "/credentials",
  },
];

const NAMES: readonly Refused[] = [
  {
    what: "an unknown customer",
    line: prepareLine({ customer: "nobody" }),
    code: "unknown_customer",
  },
  {
    what: "a customer that leads out of the catalog",
    line: prepareLine({ customer: "..", playbook: "site" }),
    code: "invalid_request",
    at: "/request/customer",
  },
  {
    what: "an unknown playbook",
    line: prepareLine({ playbook: "nothing" }),
    code: "unknown_playbook",
  },
  {
    what: "a catalog entry that says two things",
    line: prepareLine({ playbook: "unreadable" }),
    code: "catalog_invalid",
  },
  { what: "an unknown host", line: prepareLine({ hosts: ["one", "three"] }), code: "unknown_host" },
  {
    what: "a pattern instead of a host",
    line: prepareLine({ hosts: ["!one"] }),
    code: "unknown_host",
    at: "/request/hosts/0",
  },
  {
    what: "a group instead of a host",
    line: prepareLine({ hosts: ["all"] }),
    code: "unknown_host",
  },
  {
    what: "a host that stands twice",
    line: prepareLine({ hosts: ["one", "two", "one"] }),
    code: "duplicate_host",
    at: "/request/hosts/2",
  },
  {
    what: "no host",
    line: prepareLine({ hosts: [] }),
    code: "no_hosts",
    at: "/request/hosts",
  },
  {
    what: "a run that does not exist",
    line: operationLine({ operation: "status", run_id: RUN }),
    code: "not_found",
  },
  {
    what: "a cancel of a run that does not exist",
    line: operationLine({ operation: "cancel", run_id: RUN }),
    code: "not_found",
  },
  {
    what: "a revision that was never prepared",
    line: operationLine({ operation: "execute", request: normalized, revision: REVISION }),
    code: "stale_revision",
  },
];

const VARIABLES: readonly Refused[] = [
  {
    what: "a variable that the entry does not declare",
    line: withVariables({ color: "red" }),
    code: "variable_not_declared",
    at: "/request/variables/color",
  },
  {
    what: "a variable where the entry declares none",
    line: prepareLine({ playbook: "plain", variables: { version: "1" } }),
    code: "variable_not_declared",
    at: "/request/variables/version",
  },
  {
    what: "a variable of the wrong form",
    line: withVariables({ version: "newest" }),
    code: "invalid_variables",
    at: "/request/variables/version",
  },
  {
    what: "a variable of the wrong type",
    line: withVariables({ count: "3" }),
    code: "invalid_variables",
    at: "/request/variables/count",
  },
  {
    what: "a secret by its name, although declared",
    line: withVariables({ db_password: "anything" }),
    code: "secret_in_variables",
    at: "/request/variables/db_password",
  },
  {
    what: "a secret by its name, far inside",
    line: withVariables({ options: { list: [{ api_key: "anything" }] } }),
    code: "secret_in_variables",
    at: "/request/variables/options/list/0/api_key",
  },
  {
    what: "a secret reference",
    line: withVariables({ version: "vault://kv/app#password" }),
    code: "secret_in_variables",
    at: "/request/variables/version",
  },
  {
    what: "a secret by its shape",
    line: withVariables({ version: `ghp_${"a1B2c3D4".repeat(5)}` }),
    code: "secret_in_variables",
    at: "/request/variables/version",
  },
  {
    what: "a private key",
    line: withVariables({ version: "-----BEGIN OPENSSH PRIVATE KEY-----\nabc" }),
    code: "secret_in_variables",
    at: "/request/variables/version",
  },
  {
    what: "a vaulted text",
    line: withVariables({ options: { text: "$ANSIBLE_VAULT;1.1;AES256\n6162" } }),
    code: "secret_in_variables",
    at: "/request/variables/options/text",
  },
];

export const REFUSED: readonly Refused[] = [...MALFORMED, ...SHAPES, ...NAMES, ...VARIABLES];
