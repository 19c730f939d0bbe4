import { afterAll, beforeAll, expect, test } from "vitest";
import type { Prepared, RevisionView, RunResult } from "@aim/contract";
import { createClient, type Client } from "@aim/sdk";
import { aimctl } from "../../clients/cli/testing/run-aimctl.ts";
import { SPEC } from "../store/samples.ts";
import { writeCustomer } from "../harness/catalog.ts";
import { grant, startTeamPlane, type Member, type TeamPlane } from "../harness/team-plane.ts";

let plane: TeamPlane;
let ada: Member;
let bob: Member;
let cy: Member;
beforeAll(async () => {
  plane = await startTeamPlane({ runner: true });
  const variables = () => ({ type: "object", properties: { number: { type: "integer" } } });
  const playbooks = {
    gated: { playbook: "site.yml", approval: "required", variables: variables() },
    open: { playbook: "site.yml", variables: variables() },
  };
  const files = {
    "inventory.ini": "one ansible_connection=local\n",
    "site.yml": "- hosts: all\n  gather_facts: false\n  tasks:\n    - ansible.builtin.ping:\n",
  };
  writeCustomer(plane.catalogDir, { playbooks, files });
  writeCustomer(plane.catalogDir, { customer: "beta", playbooks: { open: playbooks.open }, files });
  ada = await plane.join("ada", [grant("operator")]);
  bob = await plane.join("bob", [grant("operator"), grant("approver")]);
  cy = await plane.join("cy", [grant("approver")]);
});
afterAll(() => plane[Symbol.asyncDispose]());

const as = ({ token }: Member): Client =>
  createClient({ url: plane.url, headers: { authorization: `Bearer ${token}` } });

let prepared = 0;
/** Prepares something that nobody has prepared before. */
async function prepare(who: Member, playbook = "gated"): Promise<Prepared> {
  prepared += 1;
  const variables = { number: prepared };
  return as(who).prepare({ customer: "acme", playbook, hosts: ["one"], variables });
}

async function execute(who: Member, { request, revision }: Prepared): Promise<RunResult> {
  for await (const line of as(who).execute({ request, revision })) {
    if (line.type === "response") return line.response;
  }
  throw new Error("no result");
}

const refusal = (code: string) => expect.objectContaining({ code });

test("a gated revision runs once somebody else approved exactly it, and the job says who did", async () => {
  const prepared = await prepare(ada);
  const { revision, review } = prepared;
  expect(review.approval).toEqual({ required: true, by: null });
  await expect(execute(ada, prepared)).rejects.toEqual(refusal("approval_required"));
  const waiting = await as(cy).revisions(true);
  expect(waiting).toMatchObject([
    { revision, prepared_by: ada.id, review: { hosts: ["one"], approval: { by: null } } },
  ]);
  expect(await as(cy).approve(revision)).toMatchObject({ review: { approval: { by: "cy" } } });
  expect(await as(cy).revisions(true)).toEqual([]);
  const result = await execute(ada, prepared);
  expect(result.state).toBe("succeeded");
  const [job] = await as(cy).jobs();
  expect(job).toMatchObject({ approved_by: "cy" });
  await expect(execute(ada, prepared)).rejects.toEqual(refusal("revision_used"));
  await expect(as(bob).approve(revision)).rejects.toEqual(refusal("revision_used"));
});

test("neither who prepared it nor who executes it approves it", async () => {
  const prepared = await prepare(bob);
  await expect(as(bob).approve(prepared.revision)).rejects.toEqual(refusal("approval_own"));
  const ofAda = await prepare(ada);
  await as(bob).approve(ofAda.revision);
  await expect(execute(bob, ofAda)).rejects.toEqual(refusal("approval_own"));
  // The same person with another token is the same person.
  const body = { name: bob.name, password: bob.password, token: { name: "second" } };
  const second = await plane.askLocally({ path: "/v1/login", body });
  const { token } = second.json as { token: string };
  await expect(as({ ...bob, token }).approve(prepared.revision)).rejects.toEqual(
    refusal("approval_own"),
  );
});

test("what changed after the approval does not run with it", async () => {
  const prepared = await prepare(ada);
  await as(cy).approve(prepared.revision);
  const other = { ...prepared, request: { ...prepared.request, check: !prepared.request.check } };
  await expect(execute(ada, other)).rejects.toEqual(refusal("stale_revision"));
  const anew = await as(ada).prepare(other.request);
  expect(anew.review.approval).toEqual({ required: true, by: null });
});

test("an approver of another customer sees nothing, as if there were nothing", async () => {
  const { revision } = await prepare(ada);
  const di = await plane.join("di", [grant("approver", "beta")]);
  expect(await as(di).revisions()).toEqual([]);
  const paths = [revision, "0".repeat(64)].map((one) => `/v1/revisions/${one}/approval`);
  const [foreign, missing] = await Promise.all(
    paths.map((path) => plane.ask({ path, method: "POST", token: di.token })),
  );
  expect([foreign?.status, foreign?.text]).toEqual([404, missing?.text]);
});

test("nobody goes round an approval with a specification of their own", async () => {
  await expect(as(ada).createJob({ spec: SPEC })).rejects.toEqual(refusal("approval_required"));
});

test("what asks for no approval runs without one, until an administrator switches execution off", async () => {
  const prepared = await prepare(ada, "open");
  expect(prepared.review.approval).toBeUndefined();
  const switched = await aimctl(["--state", plane.stateDir, "execution", "off"]);
  expect(switched).toMatchObject({ exit: 0, stdout: "Execution is off.\n" });
  expect(await as(ada).capabilities()).toMatchObject({ enabled: false });
  await expect(execute(ada, prepared)).rejects.toEqual(refusal("not_enabled"));
  await expect(as(ada).setExecution(true)).rejects.toEqual(refusal("not_permitted"));
  await aimctl(["--state", plane.stateDir, "execution", "on"]);
  expect((await execute(ada, prepared)).state).toBe("succeeded");
});

test("aimctl lists, shows and approves", async () => {
  const { revision } = await prepare(ada);
  const run = (...words: string[]) => aimctl(["--state", plane.stateDir, "approvals", ...words]);
  expect((await run("list")).stdout).toContain(revision);
  expect((await run("show", revision)).stdout).toMatch(/Nobody has approved it\.\n$/);
  expect(await run("approve", revision)).toMatchObject({ exit: 0 });
  const shown = JSON.parse((await run("show", revision, "--output", "json")).stdout);
  expect((shown as RevisionView).review.approval).toEqual({ required: true, by: "local" });
});
