// One row for each route that clients reach by TCP: what to send, and what the answer is about.
import { API_VERSION, pathOf, type Action, type RouteName } from "@aim/contract";
import { DIGEST, SPEC } from "../store/samples.ts";
import type { Seeded, Things } from "./seed.ts";

/** What a row is about decides what `can` has to say to its answer. */
export type About =
  /** Nobody is asked who they are. */
  | "open"
  /** Whoever has the action anywhere. */
  | "anywhere"
  /** Whoever has the action for the whole platform. */
  | "platform"
  /** A job, a revision or a token: one that may not be seen is not there. */
  | "job"
  | "revision"
  | "token"
  /** A customer, which is not there for whoever may do nothing in it. */
  | "customer"
  /** A list, which shows only what may be read. */
  | "jobs"
  | "revisions"
  | "usage"
  | "users"
  | "tokens";

export interface Sent {
  readonly path: string;
  readonly method?: string;
  readonly body?: unknown;
  readonly type?: string;
}

export interface Row {
  readonly about: About;
  readonly send: (things: Things, seeded: Seeded) => Sent;
  /** Of an operation whose action is not its route's. */
  readonly action?: Action;
  /** What must stand in a list for the thing to be shown. */
  readonly shown?: (things: Things) => string;
  /** The request ends the session that it comes with. */
  readonly ends?: boolean;
}

const get = (path: string): Sent => ({ path });
const post = (path: string, body: unknown = {}): Sent => ({ path, body, method: "POST" });
const plain = (name: RouteName): Row => ({ about: "anywhere", send: () => get(pathOf(name)) });
const operation = (body: object): Sent =>
  post(pathOf("operations"), { api_version: API_VERSION, ...body });
const ofRun = (name: RouteName): Row => ({
  about: "job",
  send: ({ run }, { artifact }) => get(pathOf(name, { run_id: run, sha256: artifact })),
});
const ofJob = (name: RouteName): Row => ({
  about: "job",
  send: ({ job }) => get(pathOf(name, { job_id: job })),
});

const request = (customer: string) => ({ customer, playbook: "site", hosts: ["one"] });
const normalized = {
  progress_mode: "summary",
  check: false,
  destructive: false,
  variables: {},
} as const;

/** Rows of one route stand below its name, or below its name and a colon. */
export const ROWS: Readonly<Record<string, Row>> = {
  "operations:capabilities": {
    about: "anywhere",
    send: () => operation({ operation: "capabilities" }),
  },
  "operations:prepare": {
    about: "customer",
    action: "job.prepare",
    send: ({ customer }) => operation({ operation: "prepare", request: request(customer) }),
  },
  "operations:execute": {
    about: "customer",
    action: "job.execute",
    send: ({ customer }) =>
      operation({
        operation: "execute",
        revision: DIGEST,
        request: { ...request(customer), ...normalized },
      }),
  },
  "operations:status": {
    about: "job",
    action: "job.read",
    send: ({ run }) => operation({ operation: "status", run_id: run }),
  },
  "operations:cancel": {
    about: "job",
    action: "job.cancel",
    send: ({ run }) => operation({ operation: "cancel", run_id: run }),
  },
  runEvents: ofRun("runEvents"),
  runList: { ...plain("runList"), about: "jobs", shown: ({ run }) => run },
  artifactList: ofRun("artifactList"),
  artifact: ofRun("artifact"),
  seal: ofRun("seal"),
  sealKey: plain("sealKey"),
  jobCreate: {
    about: "customer",
    send: ({ customer }) => {
      const source = { bundle_digest: "f".repeat(64) };
      return post(pathOf("jobCreate"), { spec: { ...SPEC, customer, source } });
    },
  },
  jobList: { ...plain("jobList"), about: "jobs", shown: ({ job }) => job },
  job: ofJob("job"),
  journal: ofJob("journal"),
  journalSnapshot: ofJob("journalSnapshot"),
  // An ended job's stream ends; the retry below would keep it open.
  journalStream: ofJob("journalStream"),
  jobCancel: { about: "job", send: ({ job }) => post(pathOf("jobCancel", { job_id: job })) },
  jobRetry: {
    about: "job",
    send: ({ job }) => post(pathOf("jobRetry", { job_id: job }), { idempotency_key: "again" }),
  },
  // Of a job that has not ended: whoever may delete it is told so, and it stays for the others.
  jobDelete: {
    about: "job",
    send: ({ held }) => ({ ...post(pathOf("jobDelete", { job_id: held })), method: "DELETE" }),
  },
  sourceUpload: {
    about: "anywhere",
    send: (_, { artifact }) => ({
      path: pathOf("sourceUpload", { sha256: artifact }),
      method: "PUT",
      type: "application/octet-stream",
      body: "an artifact",
    }),
  },
  bundleCreate: {
    about: "customer",
    send: ({ customer }, { artifact: sha256 }) => {
      const files = [{ path: "project/a", sha256, size: 1, executable: false }];
      return post(pathOf("bundleCreate"), { customer, files });
    },
  },
  usage: { ...plain("usage"), about: "usage", shown: ({ job }) => job },
  runnerList: plain("runnerList"),
  runnerDrain: {
    about: "platform",
    send: (_, { runner }) => post(pathOf("runnerDrain", { runner_instance_id: runner })),
  },
  auditList: { ...plain("auditList"), about: "platform" },
  auditHead: { ...plain("auditHead"), about: "platform" },
  openapi: plain("openapi"),
  health: { ...plain("health"), about: "open" },
  ready: { ...plain("ready"), about: "open" },
  metrics: { ...plain("metrics"), about: "platform" },
  login: {
    about: "open",
    send: ({ user }) => post(pathOf("login"), { name: user, password: "not it at all" }),
  },
  setup: {
    about: "open",
    send: () => post(pathOf("setup"), { code: "0".repeat(40), password: "not it at all" }),
  },
  ssoStart: { ...plain("ssoStart"), about: "open" },
  ssoCallback: { ...plain("ssoCallback"), about: "open" },
  ssoRedeem: {
    about: "open",
    send: () => {
      const guess = "g".repeat(43);
      return post(pathOf("ssoRedeem"), { code: guess, verifier: guess, token: { name: "x" } });
    },
  },
  ssoLogout: {
    about: "open",
    send: () => ({
      path: pathOf("ssoLogout"),
      method: "POST",
      type: "application/x-www-form-urlencoded",
      body: "logout_token=none",
    }),
  },
  logout: { about: "anywhere", ends: true, send: () => post(pathOf("logout")) },
  session: plain("session"),
  passwordChange: {
    about: "anywhere",
    send: () => {
      const passwords = { old_password: "not it at all", new_password: "something else" };
      return post(pathOf("passwordChange"), passwords);
    },
  },
  userList: { ...plain("userList"), about: "users", shown: ({ user }) => user },
  userCreate: {
    about: "platform",
    send: () => post(pathOf("userCreate"), { name: "fresh", roles: [] }),
  },
  userChange: {
    about: "platform",
    send: (_, { bystander }) => post(pathOf("userChange", { user_id: bystander }), { roles: [] }),
  },
  passwordReset: {
    about: "platform",
    send: (_, { bystander }) => post(pathOf("passwordReset", { user_id: bystander })),
  },
  tokenList: { ...plain("tokenList"), about: "tokens", shown: ({ token }) => token },
  tokenCreate: { about: "anywhere", send: () => post(pathOf("tokenCreate"), { name: "fresh" }) },
  tokenRevoke: {
    about: "token",
    send: ({ token }) => post(pathOf("tokenRevoke", { token_id: token })),
  },
  revisionList: { ...plain("revisionList"), about: "revisions", shown: ({ revision }) => revision },
  revision: { about: "revision", send: ({ revision }) => get(pathOf("revision", { revision })) },
  approve: { about: "revision", send: ({ revision }) => post(pathOf("approve", { revision })) },
  executionSetting: {
    about: "platform",
    send: () => ({ ...post(pathOf("executionSetting"), { enabled: true }), method: "PUT" }),
  },
};
