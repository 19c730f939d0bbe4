import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { aimctl, startOnTerminal } from "../../clients/cli/testing/run-aimctl.ts";
import { grant, makeService, startTeamPlane, type TeamPlane } from "../harness/team-plane.ts";

const PASSWORD = "correct horse battery";

let plane: TeamPlane;
let config: string;
let kept: string;
beforeAll(async () => {
  plane = await startTeamPlane({ tls: true });
  config = join(plane.stateDir, "..", "config");
  kept = join(config, "aim", "contexts.json");
  mkdirSync(config);
});
afterAll(() => plane[Symbol.asyncDispose]());

const env = () => ({ XDG_CONFIG_HOME: config });
const run = (...words: string[]) => aimctl(words, { env: env() });
const locally = (...words: string[]) => run("--state", plane.stateDir, ...words);
const reach = () => ["--url", plane.url, "--ca", plane.certificates?.ca ?? ""];

async function type(words: readonly string[], answers: readonly [string, string][]) {
  const started = startOnTerminal(words, { columns: 200, env: env() });
  for (const [question, answer] of answers) {
    await started.saw(question);
    started.type(`${answer}\r`);
  }
  return started.ended;
}

async function addAda(): Promise<void> {
  const added = await locally("users", "add", "ada", "--role", "viewer@acme");
  const code = /--setup ([0-9a-f]{40})/.exec(added.stdout)?.[1] ?? "";
  const ended = await type(
    ["login", ...reach(), "--setup", code],
    [
      ["New password: ", PASSWORD],
      ["Once more: ", PASSWORD],
    ],
  );
  expect(ended).toMatchObject({ exit: 0 });
}

test("a user chooses a password, logs in, works elsewhere, and logs out for good", async () => {
  await addAda();
  expect(statSync(kept).mode & 0o777).toBe(0o600);
  const { token } = JSON.parse(readFileSync(kept, "utf8")).contexts[`127.0.0.1:${plane.port}`];
  expect((await run("whoami")).stdout).toMatch(/^ada \(token usr_\w+\)\n {2}viewer@acme\n$/);
  expect(await run("jobs", "list")).toMatchObject({ exit: 0, stdout: "No job.\n" });
  expect(await run("users", "list")).toMatchObject({ exit: 77 });
  const contexts = await run("context", "list");
  expect(contexts.stdout).toContain("ada");
  expect(contexts.stdout).not.toContain(token);
  expect(await run("logout")).toMatchObject({ exit: 0 });
  expect(readFileSync(kept, "utf8")).not.toContain(token);
  expect(await plane.ask({ path: "/v1/session", token })).toMatchObject({ status: 401 });
});

test("a password is asked for without echo, and a wrong one leaves nothing behind", async () => {
  const login = ["login", ...reach(), "--name", "ada"];
  const refused = await type(login, [["Password: ", "not it at all"]]);
  expect(refused.exit).toBe(77);
  expect(refused.stdout).not.toContain("not it at all");
  const entered = await type(login, [["Password: ", PASSWORD]]);
  expect(entered).toMatchObject({ exit: 0 });
  expect(entered.stdout).not.toContain(PASSWORD);
  expect(await run("context", "use", "local")).toMatchObject({ exit: 0 });
  const named = await run("--context", `127.0.0.1:${plane.port}`, "whoami", "--output", "json");
  expect(JSON.parse(named.stdout)).toMatchObject({ name: "ada" });
});

test("a program names a file with its token, which must be its own", async () => {
  const roles = [grant("operator")];
  const token = await makeService(plane, { name: "nightly", service: "ci", roles });
  const file = join(config, "token");
  writeFileSync(file, `${token}\n`, { mode: 0o600 });
  const ask = () => aimctl([...reach(), "whoami"], { env: { ...env(), AIM_TOKEN_FILE: file } });
  expect((await ask()).stdout).toMatch(/^service:ci \(service /);
  chmodSync(file, 0o644);
  expect(await ask()).toMatchObject({ exit: 64, stdout: "" });
  rmSync(file);
  expect(await ask()).toMatchObject({ exit: 64, stdout: "" });
});

test("users are listed, disabled and given roles by their names", async () => {
  await locally("users", "add", "bob");
  await locally("users", "set-roles", "bob", "--role", "operator@acme:ansible.check_mode.run");
  expect((await locally("users", "list")).stdout).toContain("operator@acme:ansible.check_mode.run");
  expect(await locally("users", "disable", "bob")).toMatchObject({ stdout: "bob is disabled.\n" });
  expect(await locally("users", "enable", "bob")).toMatchObject({ stdout: "bob is enabled.\n" });
  expect(await locally("users", "disable", "nobody")).toMatchObject({ exit: 64 });
  expect(await locally("users", "add", "x", "--role", "king")).toMatchObject({ exit: 64 });
  expect(await locally("users", "add", "x", "--role", "runner")).toMatchObject({ exit: 77 });
  expect((await locally("users", "reset-password", "bob")).stdout).toMatch(/--setup [0-9a-f]{40}/);
});

const JOB = `job_${"0".repeat(26)}`;
const RUN = `run_${"0".repeat(26)}`;

test.for([
  "status",
  `watch ${RUN}`,
  `cancel ${RUN}`,
  "jobs list",
  `jobs retry ${JOB}`,
  `journal show ${JOB}`,
  `journal follow ${JOB}`,
  `journal export ${JOB} /nonexistent/journal`,
  `artifacts list ${RUN}`,
  `evidence export ${RUN} /nonexistent/evidence`,
  "audit show",
  "audit export /nonexistent/audit",
  "deliveries list",
  "runners list",
  "capabilities",
  "users list",
  "tokens list",
  "approvals list",
])("aimctl %s asks the plane that is named", async (words) => {
  // No plane runs on the socket of this state folder: whoever asks there is not answered.
  const file = join(config, "service-token");
  if (!existsSync(file)) {
    const roles = [grant("viewer", null), grant("auditor", null)];
    const token = await makeService(plane, { name: "reader", service: "monitor", roles });
    writeFileSync(file, token, { mode: 0o600 });
  }
  const elsewhere = { ...env(), XDG_STATE_HOME: config, AIM_TOKEN_FILE: file };
  const ended = await aimctl([...reach(), ...words.split(" ")], { env: elsewhere });
  expect([0, 64, 77]).toContain(ended.exit);
});

test.for([
  ["a plane elsewhere without TLS", ["--url", "http://192.0.2.1:80", "whoami"]],
  ["an address with a password", ["--url", "https://a:b@127.0.0.1", "whoami"]],
  ["a context that is not there", ["--context", "nowhere", "whoami"]],
  ["a run of own files elsewhere", ["--url", "https://127.0.0.1:1", "run", "x.yml", "--yes"]],
] as const)("%s is refused in words", async ([, words]) => {
  const ended = await run(...words);
  expect(ended).toMatchObject({ exit: 64, stdout: "" });
  expect(ended.stderr).toMatch(/^aimctl: .+\n$/);
});

test("a plane whose certificate nobody vouches for gets no token", async () => {
  const ended = await run("--url", plane.url, "whoami");
  expect(ended).toMatchObject({ exit: 0 });
  rmSync(kept);
  expect(await run("--url", plane.url, "whoami")).toMatchObject({ exit: 69, stdout: "" });
});
