import { isAimError } from "@aim/sdk";
import { join } from "node:path";
import { expect, test } from "vitest";
import { outcomesOf, recapOf } from "../harness/story.ts";
import { LOCAL, useCasePlane, type Case } from "./case-plane.ts";

const cases = useCasePlane();

const SITE = `- name: Change the shop
  hosts: shop
  gather_facts: false
  tasks:
    - name: Change it
      ansible.builtin.command: "true"
      tags: [change]
`;
const GOOD = `[shop]\nweb-1 ${LOCAL}\n`;

function shop(
  customer: string,
  files: Readonly<Record<string, string>>,
  more: Partial<Case> = {},
): Case {
  return { customer, hosts: ["web-1"], files: { "site.yml": SITE, ...files }, ...more };
}

async function codeOf(work: () => Promise<unknown>): Promise<string> {
  try {
    await work();
    return "accepted";
  } catch (error) {
    if (!isAimError(error)) throw error;
    return error.code;
  }
}

/** Ansible itself ends well with each of these and works on what it could read, or on nothing. */
const BROKEN: readonly Case[] = [
  shop("no-such-file", {}),
  shop("missing-children", {
    "inventory.ini": `${GOOD}[shop:children]\nnowhere\n[rest]\nrest-1 ${LOCAL}\n`,
  }),
  shop("broken-lines", { "inventory.ini": `[shop\nweb-1 ansible_connection=local\nnot "closed\n` }),
  shop(
    "half-a-folder",
    { "hosts/10-good.ini": GOOD, "hosts/20-bad.yml": "all:\n  hosts:\n   - wrong\n  more: [\n" },
    { inventory: "hosts" },
  ),
  shop(
    "dropped-from-json",
    { "hosts.json": `{"shop": {"hosts": {"web-1": {}, "web-[2": {}, "web-3": {}}}}` },
    { inventory: "hosts.json" },
  ),
];

test.for(BROKEN.map((broken) => [broken.customer, broken] as const))(
  "an inventory that can be read only in part is refused before anything runs: %s",
  async ([, broken]) => {
    cases.write(broken);
    expect(await codeOf(() => cases.run(broken))).toBe("inventory_unreadable");
    const runs = await cases.plane().client.runs();
    expect(runs.filter(({ customer }) => customer === broken.customer)).toEqual([]);
  },
);

test("an inventory without a host, a host it does not name and a limit that matches none are refused", async () => {
  const empty = shop("empty-inventory", { "inventory.ini": "[shop]\n" });
  cases.write(empty);
  expect(await codeOf(() => cases.run(empty))).toBe("inventory_empty");
  const stranger = shop("unnamed-host", { "inventory.ini": GOOD }, { hosts: ["db-1"] });
  const folder = cases.write(stranger);
  expect(await codeOf(() => cases.run(stranger))).toBe("unknown_host");
  for (const limit of ["db*", "shop:!shop"]) {
    const project = {
      playbook: join(folder, "site.yml"),
      role: null,
      inventory: [join(folder, "inventory.ini")],
      known_hosts: null,
      limit,
      credential_slots: [],
      options: {
        forks: 5,
        tags: [],
        skip_tags: [],
        user: null,
        become: false,
        timeout_s: 60,
        grace_s: 5,
      },
    };
    expect(await codeOf(() => cases.plane().client.project(project))).toBe("limit_no_match");
  }
});

test("a run whose tags match no task ran nothing and is no success", async () => {
  const untagged = shop(
    "unmatched-tags",
    { "inventory.ini": GOOD },
    { settings: { tags: ["nothing"] } },
  );
  const ran = await cases.runBoth({ ...untagged, nativeArguments: ["--tags", "nothing"] });
  expect(ran.native).toMatchObject({ status: 0, recap: [] });
  expect(ran.result).toMatchObject({
    state: "failed",
    error: { code: "nothing_ran" },
    effect: "none",
    remote_work: "none",
  });
  expect(outcomesOf(ran.result)).toEqual(["web-1 not_reached"]);
});

test("a play that matches none of the reviewed hosts ran nothing and is no success", async () => {
  const elsewhere = shop(
    "elsewhere",
    { "inventory.ini": `${GOOD}[store]\nsql-1 ${LOCAL}\n` },
    { hosts: ["sql-1"] },
  );
  const ran = await cases.runBoth(elsewhere);
  expect(ran.native.status).toBe(0);
  expect(recapOf(ran.events)).toEqual([]);
  expect(ran.result).toMatchObject({ state: "failed", error: { code: "nothing_ran" } });
});

test("the same project with a whole inventory and its tags runs", async () => {
  const ran = await cases.runBoth(
    shop("whole", { "inventory.ini": GOOD }, { settings: { tags: ["change"] } }),
  );
  expect(ran.result.state).toBe("succeeded");
  expect(outcomesOf(ran.result)).toEqual(["web-1 changed"]);
});
