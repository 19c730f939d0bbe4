// Builds catalogs for tests: one customer whose project holds the given files.
import { join } from "node:path";
import { stringify } from "yaml";
import { writeTree } from "./plane.ts";

export interface CustomerOptions {
  readonly customer?: string;
  readonly playbooks: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly files: Readonly<Record<string, string | Uint8Array>>;
  readonly knownHosts?: string;
}

/** Writes `catalog/<customer>/` with its project; answers the project's folder. */
export function writeCustomer(catalogDir: string, options: CustomerOptions): string {
  const home = join(catalogDir, options.customer ?? "acme");
  const playbooks = Object.fromEntries(
    Object.entries(options.playbooks).map(([id, settings]) => [
      id,
      { title: `Playbook ${id}`, inventory: ["inventory.ini"], ...settings },
    ]),
  );
  const definition = {
    title: "A customer",
    ...(options.knownHosts === undefined ? {} : { known_hosts: "known_hosts" }),
    playbooks,
  };
  writeTree(home, {
    "customer.yml": stringify(definition),
    ...(options.knownHosts === undefined ? {} : { known_hosts: options.knownHosts }),
  });
  writeTree(join(home, "project"), options.files);
  return join(home, "project");
}
