// What people do to accounts, tokens, approvals and the installation, each once over a real plane: one row each, no more.
import { afterAll, beforeAll, expect, test } from "vitest";
import type { AuditRow, LoggedIn, MadeToken, Prepared, UserCode } from "@aim/contract";
import { createClient } from "@aim/sdk";
import { writeCustomer } from "../harness/catalog.ts";
import { until } from "../harness/plane.ts";
import {
  asPage,
  cookieOf,
  grant,
  startTeamPlane,
  type TeamAnswer,
  type TeamCall,
  type TeamPlane,
} from "../harness/team-plane.ts";

const PASSWORD = "correct horse battery";
const LOCAL = { kind: "local", id: "local", name: "local" };
const NOBODY = `usr_${"0".repeat(26)}`;

let plane: TeamPlane;
beforeAll(async () => {
  plane = await startTeamPlane({ runner: true });
  const files = {
    "inventory.ini": "one ansible_connection=local\n",
    "site.yml": "- hosts: all\n  gather_facts: false\n  tasks:\n    - ansible.builtin.ping:\n",
  };
  const playbooks = { gated: { playbook: "site.yml", approval: "required" } };
  writeCustomer(plane.catalogDir, { playbooks, files });
});
afterAll(() => plane[Symbol.asyncDispose]());

let position = 0;
/** Rows since the last call, once there are so many; a refusal is written after its answer. */
async function told(rows: number): Promise<Pick<AuditRow, "principal" | "what" | "detail">[]> {
  const after = position;
  const page = async () => {
    const { json } = await plane.askLocally({ path: `/v1/audit?after=${after}` });
    return json as AuditRow[];
  };
  await until(5_000, async () => (await page()).length >= rows);
  const found = await page();
  position = found.at(-1)?.position ?? position;
  return found.map(({ action, customer, detail, outcome, principal, what }) => {
    return { did: `${action} ${outcome}`, customer, principal, what, detail };
  });
}

async function locally<T>(call: TeamCall): Promise<T> {
  const answer = await plane.askLocally(call);
  expect(answer.status).toBeLessThan(300);
  return answer.json as T;
}

interface Person {
  readonly id: string;
  readonly name: string;
  readonly code: string;
}

async function make(name: string, roles: UserCode["user"]["roles"]): Promise<Person> {
  const { code, user } = await locally<UserCode>({ path: "/v1/users", body: { name, roles } });
  return { id: user.user_id, name, code };
}

const login = (name: string, password: string): Promise<TeamAnswer> =>
  plane.ask({ path: "/v1/login", body: { name, password } });
const row = (did: string, rest: object) => ({ did, customer: null, what: {}, detail: {}, ...rest });
const asUser = ({ id, name }: Person) => ({ kind: "user", id, name });

test("coming, going and passwords", async () => {
  const ada = await make("ada", [grant("viewer")]);
  const by = { principal: LOCAL, what: { user_id: ada.id } };
  const roles = [{ role: "viewer", customer: "acme", narrowed: false }];
  expect(await told(1)).toEqual([
    row("user.write allowed", { ...by, detail: { route: "userCreate", roles } }),
  ]);

  const entered = await plane.ask({
    path: "/v1/setup",
    body: { code: ada.code, password: PASSWORD },
  });
  const own = { principal: asUser(ada), what: { user_id: ada.id } };
  expect(await told(2)).toEqual([
    row("session.own allowed", { ...own, detail: { route: "setup" } }),
    row("session.own allowed", { ...own, detail: { route: "login" } }),
  ]);
  await plane.ask({ path: "/v1/setup", body: { code: ada.code, password: PASSWORD } });
  const refused = { principal: null, detail: { route: "setup", code: "setup_refused" } };
  expect(await told(1)).toEqual([row("session.own refused", refused)]);

  const cookie = cookieOf(entered);
  await plane.ask({ path: "/v1/logout", body: {}, ...asPage(cookie) });
  expect(await told(1)).toEqual([
    row("session.own allowed", { ...own, detail: { route: "logout" } }),
  ]);

  await login("ada", "not it at all");
  await login("somebody-unknown", "not it at all");
  const atDoor = { principal: null, detail: { route: "login", code: "login_refused" } };
  expect(await told(2)).toEqual([
    row("session.own refused", { ...atDoor, what: { user_id: ada.id } }),
    row("session.own refused", atDoor),
  ]);
  const again = cookieOf(await login("ada", PASSWORD));
  expect(await told(1)).toEqual([
    row("session.own allowed", { ...own, detail: { route: "login" } }),
  ]);

  const change = { old_password: PASSWORD, new_password: `${PASSWORD} anew` };
  await plane.ask({ path: "/v1/session/password", body: change, ...asPage(again) });
  expect(await told(1)).toEqual([
    row("session.own allowed", { ...own, detail: { route: "passwordChange" } }),
  ]);
  await locally({ path: `/v1/users/${ada.id}/password-reset`, method: "POST" });
  expect(await told(1)).toEqual([
    row("user.write allowed", { ...by, detail: { route: "passwordReset" } }),
  ]);
});

test("users and their roles, and nothing for what did not happen", async () => {
  const bob = await make("bob", []);
  await told(1);
  const by = { principal: LOCAL, what: { user_id: bob.id } };
  const path = `/v1/users/${bob.id}`;
  await locally({ path, body: { disabled: true } });
  await locally({ path, body: { roles: [{ ...grant("operator"), job_types: ["a.b"] }] } });
  const roles = [{ role: "operator", customer: "acme", narrowed: true }];
  expect(await told(2)).toEqual([
    row("user.write allowed", { ...by, detail: { route: "userChange", disabled: true } }),
    row("user.write allowed", { ...by, detail: { route: "userChange", roles } }),
  ]);
  await plane.askLocally({ path: "/v1/users", body: { name: "bob", roles: [] } });
  await plane.askLocally({ path: `/v1/users/${NOBODY}`, body: { disabled: true } });
  expect(await told(0)).toEqual([]);
});

test("tokens, of a login and of a service", async () => {
  const cy = await make("cy", [grant("viewer")]);
  const setup = { code: cy.code, password: PASSWORD, token: { name: "first" } };
  const { token } = (await plane.ask({ path: "/v1/setup", body: setup })).json as LoggedIn;
  const roles = [{ role: "viewer", customer: "acme", narrowed: false }];
  const own = { principal: asUser(cy) };
  const some = expect.stringMatching(/^pat_/);
  expect((await told(3)).slice(1)).toEqual([
    row("session.own allowed", { ...own, what: { user_id: cy.id }, detail: { route: "setup" } }),
    row("session.own allowed", {
      ...own,
      what: { user_id: cy.id, token_id: some },
      detail: { route: "login", roles },
    }),
  ]);
  await plane.ask({ path: "/v1/logout", body: {}, token: token ?? "" });
  expect(await told(1)).toEqual([
    row("session.own allowed", {
      principal: { ...asUser(cy), kind: "token" },
      what: { token_id: some },
      detail: { route: "logout" },
    }),
  ]);

  const wish = { name: "robot", service: "robot", roles: [grant("viewer")] };
  const { about } = await locally<MadeToken>({ path: "/v1/tokens", body: wish });
  const revoke = { path: `/v1/tokens/${about.token_id}/revoke`, method: "POST" };
  await locally(revoke);
  // It has ended already.
  await locally(revoke);
  const made = { principal: LOCAL, what: { token_id: about.token_id } };
  expect(await told(2)).toEqual([
    row("token.own allowed", { ...made, detail: { route: "tokenCreate", roles } }),
    row("token.own allowed", { ...made, detail: { route: "tokenRevoke" } }),
  ]);
});

test("approvals, the switch for everybody, and the end of a job", async () => {
  const di = await plane.join("di", [grant("operator")]);
  const client = createClient({
    url: plane.url,
    headers: { authorization: `Bearer ${di.token}` },
  });
  const request = { customer: "acme", playbook: "gated", hosts: ["one"] };
  const prepared: Prepared = await client.prepare(request);
  const { revision } = prepared;
  await told(4);
  const approve = { path: `/v1/revisions/${revision}/approval`, method: "POST" };
  await locally(approve);
  // The first approval stands.
  await locally(approve);
  expect(await told(1)).toEqual([
    row("revision.approve allowed", { principal: LOCAL, customer: "acme", what: { revision } }),
  ]);

  for await (const line of client.execute({ request: prepared.request, revision })) void line;
  await told(1);
  const [job] = await client.jobs();
  const job_id = job?.job_id ?? "";
  await plane.askLocally({ path: `/v1/jobs/${job_id}`, method: "DELETE" });
  expect(await told(1)).toEqual([
    row("job.delete allowed", { principal: LOCAL, customer: "acme", what: { job_id } }),
  ]);

  for (const enabled of [false, true]) {
    await locally({ path: "/v1/settings/execution", method: "PUT", body: { enabled } });
    const detail = { route: "executionSetting", enabled };
    expect(await told(1)).toEqual([row("setting.write allowed", { principal: LOCAL, detail })]);
  }
});
