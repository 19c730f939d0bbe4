// What an accepted controller must do: each scenario is one run against the lab and what must come of it.
import { deepEqual, equal } from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Credentials, RunResult } from "@aim/contract";
import type { Ran } from "../harness/plane.ts";
import { outcomesOf, recapOf, storyOf } from "../harness/story.ts";
import type { Account, Lab } from "./sshd.ts";

export interface Scenario {
  readonly name: string;
  readonly playbook: string;
  readonly inventory: string;
  readonly hosts: readonly string[];
  readonly check?: true;
  /** Needs users of its own on the machine, which only root can make. */
  readonly needsAccounts?: true;
  readonly credentials: (lab: Lab) => Credentials;
  /** Throws what is wrong. */
  readonly expect: (ran: Ran, lab: Lab) => void;
}

const withKey = (lab: Lab): Credentials => ({ ssh_key: lab.key });

function accountsOf(lab: Lab): readonly [Account, Account] {
  if (lab.accounts === null) throw new Error("the lab has no accounts");
  return lab.accounts;
}

interface Told {
  readonly story: readonly string[];
  readonly recap: readonly string[];
  readonly outcomes: readonly string[];
  readonly state: RunResult["state"];
  readonly error: string | null;
}

/** All that a run told, against all that it should have told. */
function tells({ events, result }: Ran, wanted: Told): void {
  const told: Told = {
    story: storyOf(events),
    recap: recapOf(events),
    outcomes: outcomesOf(result),
    state: result.state,
    error: result.error?.code ?? null,
  };
  deepEqual(told, wanted);
  const { effect, remote_work, kill_confirmed, evidence } = result;
  deepEqual(
    { effect, remote_work, kill_confirmed, evidence },
    { effect: "complete", remote_work: "started", kill_confirmed: true, evidence: "complete" },
  );
  deepEqual(
    events.map(({ sequence }) => sequence),
    events.map((_, index) => index + 1),
  );
}

const checkMode: Scenario = {
  name: "check mode tells what would change and changes nothing",
  playbook: "plain.yml",
  inventory: "plain.ini",
  hosts: ["dry"],
  check: true,
  credentials: withKey,
  expect: (ran, lab) => {
    tells(ran, {
      story: [
        "play Plain work",
        "task Say hello | dry skipped",
        "task Leave a file | dry changed",
        "task Work in the background | dry skipped",
        "task Its job file is the login's own | dry skipped",
      ],
      recap: ["dry ok=1 changed=1 skipped=3"],
      outcomes: ["dry changed"],
      state: "succeeded",
      error: null,
    });
    equal(existsSync(join(lab.folder, "dry")), false);
  },
};

const success: Scenario = {
  name: "a command and a file reach a host over ssh",
  playbook: "plain.yml",
  inventory: "plain.ini",
  hosts: ["only"],
  credentials: withKey,
  expect: (ran, lab) => {
    tells(ran, {
      story: [
        "play Plain work",
        "task Say hello | only ok",
        "task Leave a file | only changed",
        "task Work in the background | only ok",
        "task Its job file is the login's own | only ok",
      ],
      recap: ["only ok=4 changed=1"],
      outcomes: ["only changed"],
      state: "succeeded",
      error: null,
    });
    equal(readFileSync(join(lab.folder, "only"), "utf8"), "left by only");
    deepEqual(ran.result.change_evidence, [{ host: "only", trusted: 1, unverified: 0 }]);
  },
};

/** Results of the first contact, one host each; every host but the good one is lost there. */
const LOST: readonly [host: string, status: string, ...codes: string[]][] = [
  ["changed", "unreachable", "authentication_failed", "host_key_changed"],
  ["foreign", "unreachable", "authentication_failed", "key_rejected"],
  // Over a shared connection sftp only says that it was closed.
  ["muted", "unreachable", "host_unreachable", "sftp_unavailable"],
  ["nameless", "unreachable", "name_resolution_failed"],
  ["refused", "unreachable", "connection_refused"],
  ["sftpless", "unreachable", "host_unreachable", "sftp_unavailable"],
  ["silent", "unreachable", "connection_timeout"],
  ["snakeless", "failed", "task_failed", "interpreter_missing"],
  ["unknown", "unreachable", "authentication_failed", "host_key_unknown"],
];

function lose(
  hosts: readonly string[],
): Pick<Scenario, "playbook" | "inventory" | "hosts" | "credentials" | "expect"> {
  const lost = LOST.filter(([host]) => hosts.includes(host));
  const failed = lost.some(([, status]) => status === "failed");
  const words = [...lost.map((line) => line.join(" ")), "fine ok"].toSorted();
  const rows = lost.map(
    ([host, status]) => `${host} ${status === "failed" ? "failures" : status}=1`,
  );
  return {
    playbook: "reach.yml",
    inventory: "reach.ini",
    hosts: ["fine", ...hosts],
    credentials: withKey,
    expect: (ran) =>
      tells(ran, {
        story: [
          "play Reach every host",
          ["task First contact", ...words].join(" | "),
          "task Second contact | fine ok",
        ],
        recap: [...rows, "fine ok=2"].toSorted(),
        outcomes: [
          "fine succeeded",
          ...hosts.map(
            (host) =>
              lost
                .find(([name]) => name === host)
                ?.slice(0, 2)
                .join(" ") ?? host,
          ),
        ],
        state: "failed",
        error: failed ? "hosts_failed" : "hosts_unreachable",
      }),
  };
}

const hostKeys: Scenario = {
  name: "a silent host, a changed key, an unknown key, a foreign user and a missing Python are told apart",
  ...lose(["silent", "changed", "unknown", "foreign", "snakeless"]),
};
const refused: Scenario = {
  name: "a refused connection and a name that does not resolve are told apart",
  ...lose(["refused", "nameless"]),
};
const noSftp: Scenario = {
  name: "a host without sftp is told as such",
  ...lose(["sftpless", "muted"]),
};

const wrongKey: Scenario = {
  name: "a key that the host does not know is a rejected key",
  playbook: "reach.yml",
  inventory: "plain.ini",
  hosts: ["only"],
  credentials: (lab) => ({ ssh_key: lab.strangerKey }),
  expect: (ran) =>
    tells(ran, {
      story: [
        "play Reach every host",
        "task First contact | only unreachable authentication_failed key_rejected",
      ],
      recap: ["only unreachable=1"],
      outcomes: ["only unreachable"],
      state: "failed",
      error: "hosts_unreachable",
    }),
};

const rightPassword: Scenario = {
  name: "a password opens a known host and is not sent to an unknown one",
  playbook: "reach.yml",
  inventory: "password.ini",
  hosts: ["locked", "unseen"],
  needsAccounts: true,
  credentials: (lab) => ({ ssh_password: accountsOf(lab)[0].password }),
  expect: (ran) =>
    tells(ran, {
      story: [
        "play Reach every host",
        "task First contact | locked ok | unseen failed permission_denied host_key_unknown",
        "task Second contact | locked ok",
      ],
      recap: ["locked ok=2", "unseen failures=1"],
      outcomes: ["locked succeeded", "unseen failed"],
      state: "failed",
      error: "hosts_failed",
    }),
};

const wrongPassword: Scenario = {
  name: "a wrong password is a rejected password",
  playbook: "reach.yml",
  inventory: "password.ini",
  hosts: ["locked"],
  needsAccounts: true,
  credentials: () => ({ ssh_password: "not-the-word" }),
  expect: (ran) =>
    tells(ran, {
      story: [
        "play Reach every host",
        "task First contact | locked unreachable authentication_failed password_rejected",
      ],
      recap: ["locked unreachable=1"],
      outcomes: ["locked unreachable"],
      state: "failed",
      error: "hosts_unreachable",
    }),
};

const become: Scenario = {
  name: "a become password makes another user of the login",
  playbook: "become.yml",
  inventory: "become.ini",
  hosts: ["humble"],
  needsAccounts: true,
  credentials: (lab) => ({ ...withKey(lab), become_password: accountsOf(lab)[1].password }),
  expect: (ran) =>
    tells(ran, {
      story: ["play Become another", "task Act as somebody else | humble ok"],
      recap: ["humble ok=1"],
      outcomes: ["humble succeeded"],
      state: "succeeded",
      error: null,
    }),
};

const becomeRefused: Scenario = {
  name: "a refused become is told as such",
  playbook: "become-again.yml",
  inventory: "become.ini",
  hosts: ["humble"],
  needsAccounts: true,
  credentials: (lab) => ({ ...withKey(lab), become_password: "not-the-word" }),
  expect: (ran) =>
    tells(ran, {
      story: [
        "play Become another",
        "task Act as somebody else | humble failed permission_denied privilege_escalation_failed",
      ],
      recap: ["humble failures=1"],
      outcomes: ["humble failed"],
      state: "failed",
      error: "hosts_failed",
    }),
};

const flow: Scenario = {
  name: "every way of going on is told as Ansible went it",
  playbook: "flow.yml",
  inventory: "fleet.ini",
  hosts: ["north", "south", "west", "absent"],
  credentials: withKey,
  expect: (ran) => {
    tells(ran, {
      story: [
        "play Mend what fails",
        "task Fails on one | north failed task_failed command_failed | south ok | west ok",
        "task Mend | north changed",
        "task Allowed to fail | north failed ignored task_failed command_failed | south failed ignored task_failed command_failed | west failed ignored task_failed command_failed",
        "play Do without some",
        "task Allowed to be gone | absent unreachable ignored connection_refused | north ok | south ok | west ok",
        "play One after another",
        "task In its turn | north ok | south ok",
        "play One after another",
        "task In its turn | west ok",
        "play Each at its own pace",
        "task Own pace | north ok | south ok | west ok",
        "task Own end | north ok | south ok | west ok",
        "play Tell the others",
        "task Change something | north changed | south changed | west ok",
        "task Work in the background | north ok | south ok | west ok",
        "task Until it holds | north ok | north retry 1 | south ok | south retry 1 | west ok | west retry 1",
        "task Once for all | north ok",
        "task On another host | north ok | south skipped | west skipped",
        "task One more host | north changed",
        "handler Told of the change | north ok | south ok",
        "play Those who joined",
        "play_skipped no_hosts_matched",
      ],
      recap: [
        "absent ok=1 ignored=1",
        "north ok=13 changed=3 rescued=1 ignored=1",
        "south ok=10 changed=1 skipped=1 ignored=1",
        "west ok=9 skipped=1 ignored=1",
      ],
      outcomes: ["north changed", "south changed", "west succeeded", "absent succeeded"],
      state: "succeeded",
      error: null,
    });
    ranAhead(ran);
    polled(ran);
  },
};

/** Under the free strategy a quick host begins the second task before the slow one has ended the first. */
function ranAhead({ events }: Ran): void {
  const pace = events.find((event) => event.kind === "task_started" && event.label === "Own pace");
  const end = events.findIndex(
    (event) => event.kind === "task_started" && event.label === "Own end",
  );
  const slow = events.findIndex(
    (event) =>
      event.kind === "host_result" &&
      pace?.kind === "task_started" &&
      event.task_id === pace.task_id &&
      event.host === "north",
  );
  equal(end >= 0 && end < slow, true, "no host ran ahead");
}

function polled({ events }: Ran): void {
  const hosts = events.flatMap((event) =>
    event.kind === "task_async_poll" ? [event.host ?? "?"] : [],
  );
  deepEqual([...new Set(hosts)].toSorted(), ["north", "south", "west"]);
}

const giveUp: Scenario = {
  name: "a play that lost too many hosts stops and the next one does not start",
  playbook: "give-up.yml",
  inventory: "fleet.ini",
  hosts: ["north", "south", "west"],
  credentials: withKey,
  expect: (ran) =>
    tells(ran, {
      story: [
        "play Too many lost",
        "task Fails for most | north failed task_failed command_failed | south failed task_failed command_failed | west ok",
        "play_stopped no_hosts_remaining",
      ],
      recap: ["north failures=1", "south failures=1", "west ok=1"],
      outcomes: ["north failed", "south failed", "west succeeded"],
      state: "failed",
      error: "hosts_failed",
    }),
};

export const SCENARIOS: readonly Scenario[] = [
  checkMode,
  success,
  hostKeys,
  refused,
  noSftp,
  wrongKey,
  rightPassword,
  wrongPassword,
  become,
  becomeRefused,
  flow,
  giveUp,
];
