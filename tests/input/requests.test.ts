import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { OPERATION_BYTES_MAX, PROBLEMS, type ProblemCode } from "@aim/contract";
import { aimctl } from "../../clients/cli/testing/run-aimctl.ts";
import { writeCustomer } from "../harness/catalog.ts";
import { startPlane, type TestPlane } from "../harness/plane.ts";
import { descendantsOf } from "../harness/processes.ts";
import { countRows } from "../harness/stored.ts";
import { call, operationLine, problemOf } from "../harness/wire.ts";
import { REFUSED } from "./refused-requests.ts";

let plane: TestPlane;
let idle: readonly number[];

const PLAYBOOK = `- name: Look around
  hosts: all
  gather_facts: false
  tasks:
    - name: Look
      ansible.builtin.ping:
`;

beforeAll(async () => {
  plane = await startPlane();
  writeCustomer(plane.catalogDir, {
    playbooks: {
      site: {
        playbook: "site.yml",
        variables: {
          type: "object",
          properties: {
            version: { type: "string", pattern: "^[0-9.]+$" },
            count: { type: "integer", minimum: 1 },
            options: { type: "object" },
            db_password: { type: "string" },
          },
        },
      },
      plain: { playbook: "site.yml" },
      locked: { playbook: "site.yml", credentials: ["ssh_password"] },
      unreadable: { playbook: "site.yml", role: "also" },
    },
    files: {
      "inventory.ini": "one ansible_connection=local\ntwo ansible_connection=local\n",
      "site.yml": PLAYBOOK,
    },
  });
  idle = descendantsOf(plane.process.pid ?? 0);
});

afterAll(async () => {
  try {
    expect(countRows(plane.stateDir, "attempts")).toBe(0);
    expect(countRows(plane.stateDir, "jobs")).toBe(0);
  } finally {
    await plane[Symbol.asyncDispose]();
  }
});

describe("a request that cannot be accepted", () => {
  test.each(REFUSED)("is refused as $code over HTTP: $what", async ({ line, code, at }) => {
    const answer = await call({ socketPath: plane.socketPath, body: line });
    const problem = problemOf(answer);
    expect(problem).toEqual({
      code,
      message: PROBLEMS[code][1],
      ...(at === undefined ? {} : { at }),
    });
    expect(answer.status).toBe(PROBLEMS[code][0]);
    expect(descendantsOf(plane.process.pid ?? 0)).toEqual(idle);
  });

  test("is refused with a sentence of its own, never with words of the input", () => {
    for (const { code } of REFUSED) expect(PROBLEMS[code][1]).toMatch(/^[A-Z].{15,}\.$/);
  });

  const EXIT: Partial<Record<ProblemCode, number>> = { stale_revision: 65, catalog_invalid: 1 };
  // One of each code: every start of the command costs.
  const asked = REFUSED.filter(
    ({ code }, index) => REFUSED.findIndex((other) => other.code === code) === index,
  );

  test.each(asked)("ends aimctl with its status: $what", async ({ line, code, at }) => {
    const words = ["request", "--socket", plane.socketPath];
    const { exit, stdout } = await aimctl(words, { input: `${line}\n` });
    expect(JSON.parse(stdout)).toEqual({
      type: "error",
      error: { code, message: PROBLEMS[code][1], ...(at === undefined ? {} : { at }) },
    });
    expect(exit).toBe(EXIT[code] ?? 64);
  });
});

describe("a request of the largest size", () => {
  const open = '{"api_version":"1.0","operation":"capabilities"';
  const line = (size: number): string => `${open}${" ".repeat(size - open.length - 1)}}`;

  test("is answered, and one byte more is refused over HTTP", async () => {
    const { socketPath } = plane;
    const fits = await call({ socketPath, body: line(OPERATION_BYTES_MAX) });
    expect(fits.status).toBe(200);
    const length = OPERATION_BYTES_MAX + 1;
    const announced = await call({ socketPath, body: "{", length });
    const sent = await call({ socketPath, body: line(length), length: null });
    for (const answer of [announced, sent]) {
      expect([answer.status, problemOf(answer).code]).toEqual([413, "request_too_large"]);
    }
  });

  test("is answered, and one byte more is refused by aimctl", async () => {
    const words = ["request", "--socket", plane.socketPath];
    const fits = await aimctl(words, { input: `${line(OPERATION_BYTES_MAX)}\n` });
    expect(fits.exit).toBe(0);
    const { exit, stdout } = await aimctl(words, { input: `${line(OPERATION_BYTES_MAX + 1)}\n` });
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: "request_too_large" } });
    expect(exit).toBe(64);
  });
});

test("a body that does not say it is JSON is refused", async () => {
  const { socketPath } = plane;
  const body = operationLine({ operation: "capabilities" });
  const answer = await call({ socketPath, body, contentType: "text/plain" });
  expect([answer.status, problemOf(answer).code]).toEqual([400, "invalid_request"]);
});

describe("credentials that do not fit", () => {
  async function prepared() {
    const request = { customer: "acme", playbook: "locked", hosts: ["one"] };
    return plane.client.prepare(request);
  }

  test("stop execute before anything starts", async () => {
    const { request, revision } = await prepared();
    const { socketPath } = plane;
    const body = operationLine({ operation: "execute", request, revision });
    const none = await call({ socketPath, body });
    expect([none.status, problemOf(none).code]).toEqual([422, "credential_missing"]);
    const execute = async (credentials: Record<string, string>) => {
      const credentials_id = await plane.client.credentials(credentials);
      const line = operationLine({ operation: "execute", request, revision, credentials_id });
      return problemOf(await call({ socketPath, body: line }));
    };
    expect(await execute({ become_password: "something" })).toMatchObject({
      code: "credential_unknown",
      at: "become_password",
    });
    expect(await execute({ ssh_password: "something", ssh_key: "more" })).toMatchObject({
      code: "credential_unknown",
      at: "ssh_key",
    });
    expect(countRows(plane.stateDir, "jobs")).toBe(0);
  });

  test("are refused where they are handed over", async () => {
    const { socketPath } = plane;
    const path = "/v1/credentials";
    for (const body of ['{"ssh_password":1}', '{"ssh_password":""}', '{"ssh_password":null}']) {
      const answer = await call({ socketPath, path, body });
      const told = { status: 400, code: "invalid_request", at: "/ssh_password" };
      expect(JSON.parse(answer.text)).toMatchObject(told);
    }
  });

  test("end aimctl with the status of a wrong input", async () => {
    const { request, revision } = await prepared();
    const input = `${operationLine({ operation: "execute", request, revision })}\n`;
    const words = ["request", "--socket", plane.socketPath, "--credentials-fd", "3"];
    const wrong = await aimctl(words, { input, descriptor3: "not JSON" });
    expect(JSON.parse(wrong.stdout)).toMatchObject({ error: { code: "credentials_unreadable" } });
    expect(wrong.exit).toBe(64);
    const other = await aimctl(words, { input, descriptor3: '{"vault_password":"abcdefgh"}' });
    expect(JSON.parse(other.stdout)).toMatchObject({ error: { code: "credential_unknown" } });
    expect(other.exit).toBe(64);
    expect(`${wrong.stdout}${wrong.stderr}`).not.toContain("not JSON");
  });
});
