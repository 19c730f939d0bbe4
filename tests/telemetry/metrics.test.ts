// What a monitor sees of a real plane that carries out work, and the dashboard that shows it.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { createMetrics } from "../../plane/telemetry/metrics.ts";
import { freePort } from "../harness/listener.ts";
import { startPlane, until } from "../harness/plane.ts";
import { executeAll, joinRunner, part, prepareAll, reportOf } from "../harness/scripted-runner.ts";
import { call } from "../harness/wire.ts";

const DASHBOARD = fileURLToPath(new URL("../../deploy/dashboards/aim.json", import.meta.url));

test("a run shows in the metrics, and strangers do not see them", async () => {
  const address = `127.0.0.1:${await freePort()}`;
  await using plane = await startPlane({
    runner: false,
    arguments: ["--no-runner", "--listen", address],
  });
  const { socketPath } = plane;
  const [prepared] = await prepareAll(plane, [
    { customer: "acme", playbook: "site", hosts: ["one"] },
  ]);
  if (prepared === undefined) throw new Error("nothing was prepared");
  const runner = await joinRunner(plane.stateDir);
  const executing = executeAll(plane.client, prepared);
  const { attempt_id: id, epoch, ...grant } = await runner.takeOne();
  const metrics = async () => (await call({ socketPath, path: "/metrics" })).text;
  expect(await metrics()).toContain('aim_streams_open{kind="ndjson"} 1');
  const log = part("tool.log", "a line\n");
  const { sha256, size: total } = log.file;
  await runner.upload(id, { sha256, epoch, bytes: log.bytes, from: 0, total });
  await runner.complete(id, reportOf({ attempt_id: id, epoch, ...grant }, [log.file]));
  await executing;
  const kind = 'job_type="ansible.playbook.run",runner_kind="process"';
  await until(10_000, async () => (await metrics()).includes('aim_streams_open{kind="ndjson"} 0'));
  const text = await metrics();
  expect(text).toContain(`aim_attempts_ended_total{${kind},state="succeeded"} 1`);
  expect(text).toContain(`aim_attempt_queue_seconds_count{${kind}} 1`);
  expect(text).toContain(`aim_attempt_execution_seconds_count{${kind},state="succeeded"} 1`);
  expect(text).toContain("aim_attempt_lease_seconds_count 1");
  expect(text).toContain("aim_upload_chunk_seconds_count 1");
  expect(text).toMatch(/aim_http_request_seconds_count\{route="complete",status="200"\} 1/);
  const labels = new Set([...text.matchAll(/="([^"]*)"/g)].map(([, value]) => value));
  expect(["acme", "site", "one", "tool.log", id].filter((typed) => labels.has(typed))).toEqual([]);
  expect((await fetch(`http://${address}/metrics`)).status).toBe(401);
  const ready = await fetch(`http://${address}/readyz`);
  expect([ready.status, await ready.json()]).toEqual([200, { ready: true, why: null }]);
});

test("every metric that the dashboard shows exists", async () => {
  const metrics = createMetrics({
    now: () => 0,
    read: async () => ({
      attempts: [],
      pool: [],
      deliveries: { waiting: 0, dead: 0, waitingSince: null },
    }),
  });
  const text = await metrics.text();
  const known = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
  const dashboard = JSON.parse(readFileSync(DASHBOARD, "utf8")) as {
    panels: { targets: { expr: string }[] }[];
  };
  const shown = dashboard.panels.flatMap(({ targets }) =>
    targets.flatMap(({ expr }) => expr.match(/\baim_[a-z0-9_]+/g) ?? []),
  );
  expect(shown.length).toBeGreaterThan(15);
  const plain = (name: string) => (known.has(name) ? name : name.replace(/_(bucket|count)$/, ""));
  expect(shown.map(plain).filter((name) => !known.has(name))).toEqual([]);
});
