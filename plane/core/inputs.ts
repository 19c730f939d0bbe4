// From a catalog entry and a request to the inputs of one job type.
import { Compile } from "typebox/compile";
import {
  AimError,
  CREDENTIAL_SLOTS,
  type JobSpec,
  type NormalizedRequest,
  type RunRequest,
} from "@aim/contract";
import type { Entry } from "./catalog.ts";
import { findSecret } from "./secret-shapes.ts";

const MEMORY_BYTES = 2 * 1024 ** 3;
const DISK_BYTES = 1024 ** 3;
const PIDS = 4096;
const TIMEOUT_S = 3600;
const GRACE_S = 10;
const FORKS = 5;

/** Writes out every default; `destructive` stays open until the content is known. */
export function normalize(request: RunRequest): Omit<NormalizedRequest, "destructive"> {
  checkHosts(request.hosts, "/request/hosts");
  return {
    customer: request.customer,
    playbook: request.playbook,
    hosts: request.hosts,
    progress_mode: request.progress_mode ?? "summary",
    check: request.check ?? false,
    variables: request.variables ?? {},
  };
}

/** Throws unknown_host or duplicate_host with the place of the first that is wrong. */
export function checkHosts(hosts: readonly string[], pointer: string): void {
  const seen = new Set<string>();
  for (const [index, host] of hosts.entries()) {
    // Ansible would read such a name as a pattern or lose a part of it.
    if (/^[!&@]|^\s|\s$|[\r\n]/.test(host))
      throw new AimError("unknown_host", `${pointer}/${index}`);
    if (seen.has(host)) throw new AimError("duplicate_host", `${pointer}/${index}`);
    seen.add(host);
  }
}

/** Throws variable_not_declared, secret_in_variables or invalid_variables. */
export function checkVariables(entry: Entry, variables: Record<string, unknown>): void {
  const secret = findSecret(variables, "/request/variables");
  if (secret !== null) throw new AimError("secret_in_variables", secret);
  const schema = entry.settings.variables as { properties?: object } | undefined;
  const names = Object.keys(variables);
  if (schema === undefined && names.length > 0) {
    throw new AimError("variable_not_declared", `/request/variables/${names[0] ?? ""}`);
  }
  if (schema === undefined) return;
  for (const name of names) {
    const declared = schema.properties === undefined || Object.hasOwn(schema.properties, name);
    if (!declared) throw new AimError("variable_not_declared", `/request/variables/${name}`);
  }
  const [error] = errorsOf(schema, variables);
  if (error !== undefined) throw new AimError("invalid_variables", `/request/variables${error}`);
}

function errorsOf(schema: object, value: unknown): string[] {
  let validator: ReturnType<typeof Compile>;
  try {
    validator = Compile(schema);
  } catch (error) {
    throw new AimError("catalog_invalid", undefined, { cause: error });
  }
  return validator.Check(value) ? [] : validator.Errors(value).map((error) => error.instancePath);
}

export function jobTypeOf(entry: Entry, check: boolean): string {
  if (entry.settings.inventory_only === true) return "ansible.inventory.validate";
  if (entry.settings.role !== undefined) return "ansible.role.run";
  return check ? "ansible.check_mode.run" : "ansible.playbook.run";
}

type Request = Omit<NormalizedRequest, "destructive">;

export function inputsOf(entry: Entry, request: Request): Record<string, unknown> {
  const { settings } = entry;
  const target = {
    inventory: [...entry.inventory],
    hosts: request.hosts,
    // Named hosts are exact; a limit only selects when none are named.
    ...(entry.limit === null || request.hosts.length > 0 ? {} : { limit: entry.limit }),
  };
  if (settings.inventory_only === true) return target;
  const what =
    entry.playbookPath === null
      ? { role: settings.role, gather_facts: settings.gather_facts ?? true }
      : { playbook: entry.playbookPath };
  return {
    ...what,
    ...target,
    variables: request.variables,
    progress_mode: request.progress_mode,
    credential_slots: slotsOf(entry),
    tags: settings.tags ?? [],
    skip_tags: settings.skip_tags ?? [],
    forks: settings.forks ?? FORKS,
    user: settings.user ?? null,
    become: settings.become ?? false,
    operation_result: settings.operation_result ?? null,
  };
}

export function slotsOf(entry: Entry): string[] {
  const slots = entry.settings.credentials ?? [];
  const known: readonly string[] = CREDENTIAL_SLOTS;
  if (slots.some((slot) => !known.includes(slot))) throw new AimError("catalog_invalid");
  return [...slots];
}

export interface SpecParts {
  readonly entry: Entry;
  readonly request: NormalizedRequest;
  readonly bundleDigest: string;
  readonly network: JobSpec["runner_requirements"]["network"];
  readonly idempotencyKey: string;
}

export function specOf(parts: SpecParts): JobSpec {
  const { entry, request } = parts;
  const { callbacks } = entry.settings;
  return {
    api_version: "1.0",
    job_type: jobTypeOf(entry, request.check),
    idempotency_key: parts.idempotencyKey,
    customer: request.customer,
    inputs: inputsOf(entry, request),
    source: { bundle_digest: parts.bundleDigest },
    secrets: Object.fromEntries(
      slotsOf(entry).map((slot) => [slot, { from: "caller", delivery: "fd" }] as const),
    ),
    destructive: request.destructive,
    timeout_s: entry.settings.timeout_s ?? TIMEOUT_S,
    grace_s: entry.settings.grace_s ?? GRACE_S,
    runner_requirements: {
      runner_kind: "process",
      network: [...parts.network],
      memory_bytes: MEMORY_BYTES,
      disk_bytes: DISK_BYTES,
      pids: PIDS,
    },
    diagnostics: "off",
    ...(callbacks === undefined ? {} : { callbacks }),
  };
}
