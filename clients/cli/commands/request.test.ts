import { expect, test } from "vitest";
import { aimctl } from "../testing/run-aimctl.ts";
import { numbered, play, runResult } from "../testing/samples.ts";
import {
  errorLine,
  eventLines,
  responseLine,
  startScriptedPlane,
} from "../testing/scripted-plane.ts";
import { addMember, parseInput } from "./request.ts";

const EXECUTE = '{"api_version":"1.0", "operation":"execute", "n":1.0, "n":2}';

test.each(["", "\n", "{", "[]", "null", "1", "{}\n{}", '{"a":\n1}', "\u{feff}{}"])(
  "%j is not one JSON object on one line",
  (text) => {
    expect(() => parseInput(Buffer.from(text))).toThrow("not one JSON object");
  },
);

test("a member is added without touching the rest", () => {
  expect(addMember('{ "a": 1.0, "a": 2 } ', "k", "v")).toBe('{ "a": 1.0, "a": 2 ,"k":"v"} ');
  expect(addMember("{ }", "k", "v")).toBe('{ ,"k":"v"}'.replace(",", ""));
});

test("malformed input gives an error line and 64, with no plane at all", async () => {
  const ended = await aimctl(["request", "--socket", "/nonexistent.sock"], { input: "{" });
  expect(ended).toMatchObject({ exit: 64, stderr: "" });
  expect(JSON.parse(ended.stdout)).toMatchObject({
    type: "error",
    error: { code: "malformed_json" },
  });
});

test("input beyond the bound is refused", async () => {
  const input = `{"a":"${"x".repeat(1024 * 1024)}"}\n`;
  const ended = await aimctl(["request", "--socket", "/nonexistent.sock"], { input });
  expect(ended.exit).toBe(64);
  expect(ended.stdout).toContain("request_too_large");
});

test("the line goes to the plane and its lines come back, both byte for byte", async () => {
  const lines = [
    '{"type":"event", "event":{"run_id":"r","kind":"new_kind","sequence":1, "extra":1.0}}',
  ];
  await using plane = await startScriptedPlane({
    execute: {
      lines: [...lines, responseLine(runResult({ state: "failed", outcomes: { a: "failed" } }))],
    },
  });
  const ended = await aimctl(["request", "--socket", plane.socketPath], { input: `${EXECUTE}\n` });
  expect(plane.received).toEqual([{ what: "execute", body: EXECUTE }]);
  expect(ended.stdout.split("\n")[0]).toBe(lines[0]);
  expect(ended.exit).toBe(2);
});

test("an error of the plane decides the status", async () => {
  await using plane = await startScriptedPlane({
    execute: { status: 409, lines: [errorLine("stale_revision")] },
  });
  const ended = await aimctl(["request", "--socket", plane.socketPath], { input: EXECUTE });
  expect(ended.exit).toBe(65);
  expect(JSON.parse(ended.stdout)).toMatchObject({ error: { code: "stale_revision" } });
});

test("a cut answer to execute is an unknown outcome", async () => {
  await using plane = await startScriptedPlane({
    execute: { lines: eventLines(numbered([play("P")])), finish: "cut" },
  });
  const ended = await aimctl(["request", "--socket", plane.socketPath], { input: EXECUTE });
  expect(ended.exit).toBe(8);
  expect(ended.stderr).toContain("ended before it was complete");
});

test("credentials go over the descriptor and the private route alone", async () => {
  const id = `crd_${"0".repeat(26)}`;
  await using plane = await startScriptedPlane({
    "POST /v1/credentials": { lines: [{ credentials_id: id }] },
    execute: { lines: [responseLine(runResult())] },
  });
  const ended = await aimctl(["request", "--socket", plane.socketPath, "--credentials-fd", "3"], {
    input: EXECUTE,
    descriptor3: '{"ssh_password":"hunter2"}',
  });
  expect(ended.exit).toBe(0);
  expect(plane.received).toEqual([
    { what: "POST /v1/credentials", body: '{"ssh_password":"hunter2"}' },
    { what: "execute", body: `${EXECUTE.slice(0, -1)},"credentials_id":"${id}"}` },
  ]);
  expect(ended.stdout + ended.stderr).not.toContain("hunter2");
});

test("credentials with another operation are a usage error", async () => {
  const ended = await aimctl(["request", "--credentials-fd", "3"], {
    input: '{"operation":"status"}',
    descriptor3: '{"ssh_password":"hunter2"}',
  });
  expect(ended.exit).toBe(64);
});
