// From ansible-playbook's words to the project that the plane registers.
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { CREDENTIAL_SLOTS, type Project } from "@aim/contract";
import { EXIT } from "../exit-codes.ts";
import { CliFault } from "../fault.ts";
import { defaultKnownHosts } from "../settings.ts";

export interface ProjectFlags {
  readonly inventory?: readonly string[];
  readonly limit?: string;
  readonly tags?: readonly string[];
  readonly skipTags?: readonly string[];
  readonly forks?: number;
  readonly user?: string;
  readonly become?: boolean;
  readonly knownHosts?: string;
  readonly timeout?: number;
  readonly role?: string;
}

const FORKS = 5;
const TIMEOUT_S = 3600;
const GRACE_S = 10;

/** Paths become absolute here: the plane has another working folder. Throws CliFault 64 for what cannot be meant. */
export function projectOf(
  playbook: string | undefined,
  flags: ProjectFlags,
  slots: readonly string[],
): Project {
  if (playbook === undefined && flags.role === undefined) {
    throw new CliFault(EXIT.usage, "Name a playbook, or a role with --role.");
  }
  return {
    playbook: resolve(playbook ?? "."),
    role: flags.role ?? null,
    inventory: inventoryPaths(flags.inventory ?? []),
    known_hosts: knownHosts(flags.knownHosts),
    limit: flags.limit ?? null,
    credential_slots: inContractOrder(slots),
    options: {
      forks: flags.forks ?? FORKS,
      tags: words(flags.tags),
      skip_tags: words(flags.skipTags),
      user: flags.user ?? null,
      become: flags.become ?? false,
      timeout_s: flags.timeout ?? TIMEOUT_S,
      grace_s: GRACE_S,
    },
  };
}

function inventoryPaths(inventory: readonly string[]): string[] {
  if (inventory.length === 0) {
    throw new CliFault(EXIT.usage, "Name an inventory with -i: a file or a folder.");
  }
  return inventory.map((path) => {
    if (path.includes(",") && !existsSync(path)) {
      throw new CliFault(
        EXIT.usage,
        "A list of hosts after -i is not supported. Write the hosts into a file.",
      );
    }
    return resolve(path);
  });
}

function knownHosts(flag: string | undefined): string | null {
  const path = resolve(flag ?? defaultKnownHosts());
  if (existsSync(path)) return path;
  if (flag !== undefined) throw new CliFault(EXIT.usage, "The known_hosts file does not exist.");
  return null;
}

function words(options: readonly string[] | undefined): string[] {
  return (options ?? [])
    .flatMap((option) => option.split(","))
    .map((word) => word.trim())
    .filter((word) => word !== "");
}

function inContractOrder(slots: readonly string[]): string[] {
  const known: readonly string[] = CREDENTIAL_SLOTS;
  const place = (slot: string) => (known.includes(slot) ? known.indexOf(slot) : known.length);
  return [...slots].toSorted((a, b) => place(a) - place(b));
}
