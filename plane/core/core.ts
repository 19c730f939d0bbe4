// The Core operations. Each takes a checked operation and answers its response or throws a problem.
import { realpath } from "node:fs/promises";
import {
  AimError,
  executionProgress,
  OPERATION_NAMES,
  PRODUCT_VERSION,
  TARGET_OUTCOME_SCHEMA,
  type Action,
  type Capabilities,
  type OperationOf,
  type Prepared,
  type Principal,
  type Project,
  type RegisteredProject,
  type RunStatus,
} from "@aim/contract";
import { JOB_TYPES } from "@aim/drivers/schemas";
import { allowed } from "../audit/chain.ts";
import { scopeOf } from "../auth/can.ts";
import { formatOrNull, formatTimestamp } from "../base/clock.ts";
import type { Attempt, Job } from "../execution/attempt.ts";
import type { AttemptAndJob } from "../store/uses/read-attempts.ts";
import { snapshot } from "./bundle.ts";
import { PERSONAL_CUSTOMER, personalEntry, type FindEntry } from "./catalog.ts";
import { execute } from "./execute.ts";
import { cancelEntry } from "./jobs.ts";
import type { CoreParts } from "./parts.ts";
import { inspect, prepare } from "./prepare.ts";
import { requireJob } from "./rights.ts";

export interface Core {
  readonly capabilities: () => Promise<Capabilities>;
  readonly prepare: (who: Principal, operation: OperationOf<"prepare">) => Promise<Prepared>;
  readonly execute: (who: Principal, operation: OperationOf<"execute">) => Promise<Attempt>;
  readonly status: (who: Principal, runId: string) => Promise<RunStatus>;
  readonly cancel: (who: Principal, runId: string) => Promise<RunStatus>;
  /** The newest ones that the principal may read. */
  readonly runs: (who: Principal, limit: number) => Promise<RunStatus[]>;
  readonly registerProject: (who: Principal, project: Project) => Promise<RegisteredProject>;
}

export function createCore(parts: CoreParts): Core {
  async function capabilities(): Promise<Capabilities> {
    const runtime = parts.dispatcher.readyRunner()?.runtime ?? null;
    const accepted =
      runtime !== null &&
      (await parts.store.isAccepted({
        ansibleCore: runtime.ansible_core,
        callbackDigest: runtime.callback_digest,
      }));
    return {
      version: PRODUCT_VERSION,
      api_version: "1.0",
      operations: [...OPERATION_NAMES],
      job_types: [...JOB_TYPES.keys()],
      execution_progress: executionProgress(
        accepted ? "controller_accepted" : "controller_acceptance_required",
      ),
      target_outcomes: TARGET_OUTCOME_SCHEMA,
      operation_results: true,
      raw_task_output: false,
      enabled: await parts.mayExecute(),
      runtime_ready: runtime !== null,
      runtime,
    };
  }

  async function find(who: Principal, action: Action, runId: string): Promise<AttemptAndJob> {
    const found = await parts.store.readAttempt({ attemptId: runId });
    if (found === null) throw new AimError("not_found");
    requireJob(who, action, found.job);
    return found;
  }

  async function status(who: Principal, runId: string): Promise<RunStatus> {
    const { attempt, job } = await find(who, "job.read", runId);
    return statusOf(attempt, job);
  }

  async function cancel(who: Principal, runId: string): Promise<RunStatus> {
    const { job } = await find(who, "job.cancel", runId);
    await parts.dispatcher.cancel(runId, cancelEntry(parts, { who, job, runId }));
    // Read again: what is stored is rounded, and every answer about a run says the same.
    return status(who, runId);
  }

  async function runs(who: Principal, limit: number): Promise<RunStatus[]> {
    const found = await parts.store.listAttempts({ limit, scope: scopeOf(who, "job.read") });
    return found.map(({ attempt, job }) => ({ ...statusOf(attempt, job), result: null }));
  }

  return {
    capabilities,
    prepare: (who, operation) => prepare(parts, who, operation.request),
    execute: (who, operation) => execute(parts, who, operation),
    status,
    cancel,
    runs,
    registerProject: (who, project) => registerProject(parts, who, project),
  };
}

function hostsOf({ spec }: Job): number {
  return (spec.inputs as { hosts?: readonly string[] }).hosts?.length ?? 0;
}

function statusOf(attempt: Attempt, job: Job): RunStatus {
  return {
    run_id: attempt.id,
    customer: job.customer,
    playbook: job.playbook,
    title: job.title,
    job_type: job.spec.job_type,
    hosts: hostsOf(job),
    state: attempt.state,
    created_at: formatTimestamp(attempt.created),
    started_at: formatOrNull(attempt.started),
    ended_at: formatOrNull(attempt.ended),
    cancel_requested_at: formatOrNull(attempt.cancelRequested),
    result: attempt.result,
  };
}

/** Registers a caller's own files and answers which hosts its limit selects. */
async function registerProject(
  parts: CoreParts,
  who: Principal,
  asked: Project,
): Promise<RegisteredProject> {
  const project = await realPaths(asked);
  const { limit: _, ...identity } = project;
  const id = `p${parts.digest(JSON.stringify(identity)).slice(0, 16)}`;
  const entry = personalEntry(id, project);
  await parts.store.saveProject({
    id,
    customer: PERSONAL_CUSTOMER,
    definition: JSON.stringify(project),
    audit: allowed(who, {
      action: "job.prepare",
      customer: PERSONAL_CUSTOMER,
      what: {},
      detail: { route: "project" },
      now: parts.clock.now(),
    }),
  });
  const taken = await snapshot(entry.trees, parts.blobs.put, parts.digest);
  const inspection = await inspect(parts, entry, {
    customer: PERSONAL_CUSTOMER,
    playbook: id,
    hosts: [],
    progress_mode: "detail",
    check: false,
    variables: {},
    files: taken.files,
  });
  return { customer: PERSONAL_CUSTOMER, playbook: id, hosts: [...inspection.selected] };
}

async function realPaths(project: Project): Promise<Project> {
  const resolve = async (path: string, code: "playbook_not_found" | "inventory_unreadable") => {
    if (!path.startsWith("/")) throw new AimError("invalid_request", "/playbook");
    return realpath(path).catch((error: unknown) => {
      throw new AimError(code, undefined, { cause: error });
    });
  };
  const inventory: string[] = [];
  for (const path of project.inventory) inventory.push(await resolve(path, "inventory_unreadable"));
  return {
    ...project,
    playbook: await resolve(project.playbook, "playbook_not_found"),
    inventory,
    known_hosts: project.known_hosts,
  };
}

/** Finds personal projects in the store and everything else in the catalog. */
export function withPersonalProjects(
  catalog: FindEntry,
  parts: Pick<CoreParts, "store">,
): FindEntry {
  return async (customer, playbook) => {
    if (customer !== PERSONAL_CUSTOMER) return catalog(customer, playbook);
    const definition = await parts.store.readProject({ id: playbook, customer });
    if (definition === null) throw new AimError("unknown_playbook");
    return personalEntry(playbook, JSON.parse(definition) as Project);
  };
}
