// Events and results of the contract for tests, numbered as a plane would number them.
import {
  hostError,
  runError,
  summarize,
  type CauseCode,
  type Counts,
  type EventBody,
  type HintCode,
  type HostStatus,
  type Prepared,
  type RunEvent,
  type RunErrorCode,
  type RunResult,
  type Target,
  type TargetOutcome,
} from "@aim/contract";

export const RUN_ID = "run_0123456789abcdefghjkmnpqrs";
export const DIGEST = "a".repeat(64);
const TIME = "2026-01-02T03:04:05.000006Z";

export function numbered(bodies: readonly EventBody[], first = 1): RunEvent[] {
  return bodies.map((body, index) => ({
    event_version: "1.0",
    run_id: RUN_ID,
    sequence: first + index,
    timestamp: TIME,
    ...body,
  })) as RunEvent[];
}

export function play(label: string, id = "p1"): EventBody {
  return { kind: "play_started", play_id: id, label, label_redacted: false };
}

export function task(
  label: string,
  id: string,
  more: { handler?: boolean; play?: string } = {},
): EventBody {
  return {
    kind: "task_started",
    play_id: more.play ?? "p1",
    task_id: id,
    label,
    label_redacted: false,
    handler: more.handler ?? false,
  };
}

export interface ResultMore {
  readonly hint?: HintCode;
  readonly cause?: CauseCode;
  readonly ignored?: boolean;
}

export function result(
  taskId: string,
  host: string | null,
  more: ResultMore & { status?: HostStatus } = {},
): EventBody {
  const status = more.status ?? "ok";
  return {
    kind: "host_result",
    play_id: "p1",
    task_id: taskId,
    host,
    host_redacted: host === null,
    status,
    changed: status === "changed",
    ignored: more.ignored ?? false,
    details_redacted: false,
    error: more.hint === undefined ? null : hostError(more.hint, more.cause ?? null),
  };
}

export function counts(some: Partial<Counts> = {}): Counts {
  return {
    ok: 0,
    changed: 0,
    failures: 0,
    unreachable: 0,
    skipped: 0,
    rescued: 0,
    ignored: 0,
    ...some,
  };
}

export function recap(host: string | null, some: Partial<Counts>): EventBody {
  return { kind: "host_recap", host, host_redacted: host === null, counts: counts(some) };
}

export interface ResultFacts {
  readonly state?: RunResult["state"];
  readonly error?: RunErrorCode;
  readonly outcomes?: Readonly<Record<string, TargetOutcome>>;
  readonly lost?: number;
}

export function runResult(facts: ResultFacts = {}): RunResult {
  const outcomes: Readonly<Record<string, TargetOutcome>> = facts.outcomes ?? { web1: "changed" };
  const targets: Target[] = Object.entries(outcomes).map(([host, outcome]) => ({
    host,
    outcome,
    counts: outcome === "unknown" ? null : counts({ ok: 1 }),
  }));
  return {
    run_id: RUN_ID,
    state: facts.state ?? "succeeded",
    effect: facts.state === "lost" ? "unknown" : "complete",
    evidence: "complete",
    kill_confirmed: true,
    remote_work: "started",
    failure_category: null,
    error: facts.error === undefined ? null : runError(facts.error),
    stats: counts({ ok: 2, changed: 1 }),
    targets,
    target_summary: summarize(targets),
    operation_result: null,
    change_evidence: [],
    journal: { stored: 12, lost: facts.lost ?? 0, first_sequence: 1, last_sequence: 12 },
    manifest_digest: DIGEST,
  };
}

export function prepared(more: Partial<Prepared["review"]> = {}): Prepared {
  const hosts = more.hosts ?? ["web1", "web2"];
  return {
    request: {
      customer: "local",
      playbook: "site",
      hosts: [...hosts],
      progress_mode: "detail",
      check: false,
      destructive: more.destructive ?? false,
      variables: {},
    },
    revision: DIGEST,
    review: {
      title: "Site",
      job_type: "ansible.playbook.run",
      source_digest: DIGEST,
      files: 3,
      hosts: [...hosts],
      changes: null,
      destructive: false,
      destructive_because: [],
      credential_slots: [],
      secret_references: [],
      network: [],
      findings: [],
      findings_omitted: 0,
      command: ["ansible-playbook", "site.yml", "--limit", "web1,web2 x"],
      expires_at: TIME,
      ...more,
    },
  };
}
