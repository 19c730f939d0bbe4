import fc from "fast-check";
import { expect, test } from "vitest";
import { Compile } from "typebox/compile";
import {
  CAUSE_CODES,
  COUNT_NAMES,
  HINT_CODES,
  RunEventSchema,
  STAGES,
  ATTEMPT_STATES,
  type RunEvent,
} from "@aim/contract";
import { microsOf, timestampOf } from "./micros.ts";
import { eventOf, namesIn, receivedAt, rowOf } from "./row.ts";

const RUN_ID = `run_${"0".repeat(26)}`;
const validator = Compile(RunEventSchema);

// Any text at all, lone surrogates and zero bytes too: what the schema lets pass must come back.
const anyText = fc.oneof(
  fc.string(),
  fc.string({ unit: "binary", maxLength: 40 }).map((text) => `${text}\ud800"\0`),
);
const count = fc.oneof(fc.nat(), fc.nat(Number.MAX_SAFE_INTEGER));
const digits = (n: number) =>
  fc.array(fc.nat(9), { minLength: n, maxLength: n }).map((d) => d.join(""));
const realTime = fc.nat(4_000_000_000_000_000).map((micros) => timestampOf(micros));
const anyTime = fc
  .tuple(digits(4), digits(2), digits(2), digits(2), digits(2), digits(2), digits(6))
  .map(([y, mo, d, h, mi, s, us]) => `${y}-${mo}-${d}T${h}:${mi}:${s}.${us}Z`);
const id = fc.oneof(
  fc.tuple(fc.constantFrom("p", "t"), fc.nat(9_999_999_999)).map(([k, n]) => `${k}${n}`),
  fc.tuple(fc.constantFrom("p", "t"), digits(6)).map(([k, n]) => `${k}${n}`),
);
const label = { label: anyText, label_redacted: fc.boolean() };
const host = { host: fc.option(anyText), host_redacted: fc.boolean() };
const counts = fc.record(
  Object.fromEntries(COUNT_NAMES.map((name) => [name, count])) as Record<
    (typeof COUNT_NAMES)[number],
    typeof count
  >,
);
const error = fc.oneof(
  fc.record({
    code: fc.constantFrom(...HINT_CODES),
    message: anyText,
    classification: fc.constant("diagnostic_hint"),
  }),
  fc.record({
    code: fc.constantFrom(...HINT_CODES),
    message: anyText,
    classification: fc.constant("diagnostic_hint"),
    cause: fc.record({ code: fc.constantFrom(...CAUSE_CODES), advice: anyText }),
  }),
);
const retry = {
  play_id: id,
  task_id: id,
  ...host,
  attempt: fc.option(count),
  details_redacted: fc.boolean(),
};

const BODIES: Readonly<Record<RunEvent["kind"], Record<string, fc.Arbitrary<unknown>>>> = {
  stage: { stage: fc.constantFrom(...STAGES) },
  progress: {
    tasks_started: count,
    results: fc.record({
      ok: count,
      changed: count,
      failed: count,
      unreachable: count,
      skipped: count,
    }),
  },
  play_started: { play_id: id, ...label },
  play_skipped: { play_id: id, reason: fc.constant("no_hosts_matched") },
  play_stopped: { play_id: id, reason: fc.constant("no_hosts_remaining") },
  task_started: { play_id: id, task_id: id, ...label, handler: fc.boolean() },
  host_result: {
    play_id: id,
    task_id: id,
    ...host,
    status: fc.constantFrom("ok", "changed", "skipped", "failed", "unreachable"),
    changed: fc.boolean(),
    ignored: fc.boolean(),
    details_redacted: fc.boolean(),
    error: fc.option(error),
  },
  task_retry: retry,
  task_async_poll: retry,
  host_recap: { ...host, counts },
  stats: { hosts: count, counts },
  result: {
    state: fc.constantFrom(...ATTEMPT_STATES),
    error: fc.option(fc.stringMatching(/^[a-z_]+$/)),
  },
};

const anyEvent = fc.oneof(
  ...Object.entries(BODIES).map(([kind, body]) =>
    fc.record({
      event_version: fc.constant("1.0"),
      run_id: fc.constant(RUN_ID),
      sequence: fc.integer({ min: 1, max: 999_999_999 }),
      timestamp: fc.oneof(realTime, anyTime),
      kind: fc.constant(kind),
      ...body,
    }),
  ),
) as fc.Arbitrary<RunEvent>;

function interning() {
  const names: string[] = [];
  const intern = (json: string): number => {
    if (!names.includes(json)) names.push(json);
    return names.indexOf(json) + 1;
  };
  return { names, intern, nameOf: (of: number) => names[of - 1] ?? "" };
}

test("every event that the contract allows comes back from its columns as it was", () => {
  fc.assert(
    fc.property(anyEvent, fc.nat(4_000_000_000_000), (event, now) => {
      fc.pre(validator.Check(event));
      const { intern, nameOf, names } = interning();
      const row = rowOf(event, { base: 1_800_000_000_000_000, now, intern });
      // As a database gives it back: whole numbers and UTF-8 only.
      for (const name of names) expect(Buffer.from(name).toString()).toBe(name);
      for (const value of Object.values(row)) {
        if (typeof value === "number") expect(Number.isSafeInteger(value)).toBe(true);
      }
      const kept = { runId: RUN_ID, base: 1_800_000_000_000_000, nameOf };
      expect(eventOf(row, kept)).toEqual(event);
      expect(JSON.stringify(eventOf(row, kept)).length).toBe(JSON.stringify(event).length);
      expect(receivedAt(row, kept.base)).toBe(now);
      expect(new Set(namesIn(row))).toEqual(new Set(names.map((_, at) => at + 1)));
    }),
    { numRuns: 3_000 },
  );
});

test("a time is kept as a number exactly when it is one of the calendar", () => {
  expect(microsOf("2026-01-01T00:00:00.000001Z")).toBe(1_767_225_600_000_001);
  expect(timestampOf(1_767_225_600_000_001)).toBe("2026-01-01T00:00:00.000001Z");
  expect(microsOf("2026-02-30T00:00:00.000000Z")).toBeNull();
  expect(microsOf("9999-12-31T23:59:59.999999Z")).toBeNull();
});
