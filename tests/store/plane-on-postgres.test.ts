import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { writeCustomer } from "../harness/catalog.ts";
import { eventsOf, makeFolder, runRequest, startPlane } from "../harness/plane.ts";
import { startPostgres } from "../harness/postgres.ts";

test("a plane on PostgreSQL runs a playbook and tells of it after a restart", async () => {
  await using postgres = await startPostgres();
  const home = makeFolder("plane-pg");
  const file = join(home, "database-url");
  writeFileSync(file, `${postgres.createDatabase()}\n`, { mode: 0o600 });
  const options = { home, arguments: ["--database-file", file] };
  const first = await startPlane(options);
  writeCustomer(first.catalogDir, {
    playbooks: { site: { playbook: "site.yml" } },
    files: {
      "inventory.ini": "one ansible_connection=local\n",
      "site.yml":
        "- hosts: all\n  gather_facts: false\n  tasks:\n    - name: Look\n      ansible.builtin.ping:\n",
    },
  });
  const request = { customer: "acme", playbook: "site", hosts: ["one"] };
  const { result, events } = await runRequest(first.client, request);
  expect(result.state).toBe("succeeded");
  expect(eventsOf(events, "host_recap")).toHaveLength(1);
  await first.stop();
  await using second = await startPlane(options);
  expect((await second.client.status(result.run_id)).result).toEqual(result);
  expect((await runRequest(second.client, request)).result.state).toBe("succeeded");
});
