// The catalog: one folder a customer, its playbooks described in customer.yml. Read fresh at every use.
import { readdir, readFile } from "node:fs/promises";
import { dirname, isAbsolute, join, normalize } from "node:path";
import { Type, type Static } from "typebox";
import { Compile } from "typebox/compile";
import { parse } from "yaml";
import {
  AimError,
  CallbackSchema,
  CALLBACKS_MAX,
  CatalogIdSchema,
  NetworkRuleSchema,
  SlotNameSchema,
  type Project,
} from "@aim/contract";
import type { Tree } from "./bundle.ts";

const closed = { additionalProperties: false } as const;
const tag = Type.String({ pattern: "^[A-Za-z0-9_.][A-Za-z0-9_.-]*$" });

const PlaybookSchema = Type.Object(
  {
    title: Type.String({ minLength: 1, maxLength: 200 }),
    /** Exactly one of playbook, role and inventory_only says what runs. */
    playbook: Type.Optional(Type.String({ minLength: 1, maxLength: 1024 })),
    role: Type.Optional(Type.String({ pattern: "^[A-Za-z0-9_][A-Za-z0-9_.-]*$" })),
    inventory_only: Type.Optional(Type.Literal(true)),
    inventory: Type.Array(Type.String({ minLength: 1, maxLength: 1024 }), {
      minItems: 1,
      maxItems: 32,
    }),
    gather_facts: Type.Optional(Type.Boolean()),
    /** JSON Schema of the variables a request may set; without it none may. */
    variables: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    credentials: Type.Optional(Type.Array(SlotNameSchema, { maxItems: 32 })),
    network: Type.Optional(Type.Array(NetworkRuleSchema, { maxItems: 1000 })),
    destructive: Type.Optional(Type.Boolean()),
    /** Somebody else has to approve each revision before it runs. */
    approval: Type.Optional(Type.Literal("required")),
    /** Who is told of each run. */
    callbacks: Type.Optional(Type.Array(CallbackSchema, { maxItems: CALLBACKS_MAX })),
    operation_result: Type.Optional(
      Type.Object(
        { key: Type.String({ pattern: "^[A-Za-z_][A-Za-z0-9_]{0,62}$" }), schema: Type.Unknown() },
        closed,
      ),
    ),
    tags: Type.Optional(Type.Array(tag)),
    skip_tags: Type.Optional(Type.Array(tag)),
    user: Type.Optional(Type.String({ pattern: "^[A-Za-z0-9_.][A-Za-z0-9_.@-]*$", maxLength: 64 })),
    become: Type.Optional(Type.Boolean()),
    forks: Type.Optional(Type.Integer({ minimum: 1, maximum: 500 })),
    timeout_s: Type.Optional(Type.Integer({ minimum: 1, maximum: 7 * 24 * 3600 })),
    grace_s: Type.Optional(Type.Integer({ minimum: 0, maximum: 3600 })),
  },
  closed,
);

const CustomerSchema = Type.Object(
  {
    title: Type.String({ minLength: 1, maxLength: 200 }),
    project: Type.Optional(Type.String({ minLength: 1, maxLength: 1024 })),
    known_hosts: Type.Optional(Type.String({ minLength: 1, maxLength: 1024 })),
    playbooks: Type.Record(CatalogIdSchema, PlaybookSchema),
  },
  closed,
);

const customers = Compile(CustomerSchema);

/** A playbook as it may be asked for: what runs, from which files, with which bounds. */
export interface Entry {
  readonly customer: string;
  readonly playbook: string;
  readonly settings: Static<typeof PlaybookSchema>;
  readonly trees: readonly Tree[];
  /** Places in the workspace. */
  readonly inventory: readonly string[];
  readonly playbookPath: string | null;
  /** An Ansible pattern that selected the hosts of a personal project. */
  readonly limit: string | null;
}

export type FindEntry = (customer: string, playbook: string) => Promise<Entry>;

/** Reads `folder/<customer>/customer.yml`. Throws unknown_customer, unknown_playbook or catalog_invalid. */
export function createCatalog(folder: string | null): FindEntry {
  return async (customer, playbook) => {
    const names = folder === null ? [] : await readdir(folder).catch(() => []);
    if (folder === null || !names.includes(customer)) throw new AimError("unknown_customer");
    const home = join(folder, customer);
    const definition = await readCustomer(home);
    const settings = definition.playbooks[playbook];
    if (settings === undefined) throw new AimError("unknown_playbook");
    const ways = [settings.playbook, settings.role, settings.inventory_only];
    if (ways.filter((way) => way !== undefined).length !== 1) throw new AimError("catalog_invalid");
    const trees: Tree[] = [
      { from: inside(home, definition.project ?? "project"), to: "project", only: null },
    ];
    if (definition.known_hosts !== undefined) {
      trees.push({ from: inside(home, definition.known_hosts), to: "known_hosts", only: null });
    }
    return {
      customer,
      playbook,
      settings,
      trees,
      inventory: settings.inventory.map((path) => `project/${inside("", path)}`),
      playbookPath:
        settings.playbook === undefined ? null : `project/${inside("", settings.playbook)}`,
      limit: null,
    };
  };
}

/** Whether some playbook of the customer asks for approval: then nobody goes round it with a specification of their own. */
export function approvalFinder(folder: string | null): (customer: string) => Promise<boolean> {
  return async (customer) => {
    const names = folder === null ? [] : await readdir(folder).catch(() => []);
    if (folder === null || !names.includes(customer)) return false;
    const { playbooks } = await readCustomer(join(folder, customer));
    return Object.values(playbooks).some(({ approval }) => approval === "required");
  };
}

async function readCustomer(home: string): Promise<Static<typeof CustomerSchema>> {
  try {
    const value: unknown = parse(await readFile(join(home, "customer.yml"), "utf8"), {
      uniqueKeys: true,
      maxAliasCount: 0,
    });
    if (customers.Check(value)) return value;
  } catch (error) {
    throw new AimError("catalog_invalid", undefined, { cause: error });
  }
  throw new AimError("catalog_invalid");
}

/** A path below `home`; one that leads out of it is a broken catalog. */
function inside(home: string, path: string): string {
  const place = normalize(path);
  if (isAbsolute(place) || place === ".." || place.startsWith("../")) {
    throw new AimError("catalog_invalid");
  }
  return home === "" ? place : join(home, place);
}

/** The customer under which a caller's own projects stand. */
export const PERSONAL_CUSTOMER = "local";

/** A caller's own playbook and inventory as an entry. */
export function personalEntry(id: string, project: Project): Entry {
  const root = project.role === null ? dirname(project.playbook) : project.playbook;
  const trees: Tree[] = [{ from: root, to: "project", only: null }];
  const inventory = project.inventory.map((path, index) => {
    if (path.startsWith(`${root}/`)) return `project/${path.slice(root.length + 1)}`;
    const name = path.slice(dirname(path).length + 1);
    const only = new Set([name, "group_vars", "host_vars"]);
    trees.push({ from: dirname(path), to: `inventory/${index}`, only });
    return `inventory/${index}/${name}`;
  });
  if (project.known_hosts !== null) {
    trees.push({ from: project.known_hosts, to: "known_hosts", only: null });
  }
  const { options } = project;
  const name = project.playbook.slice(dirname(project.playbook).length + 1);
  const what = project.role === null ? { playbook: name } : { role: project.role };
  return {
    customer: PERSONAL_CUSTOMER,
    playbook: id,
    trees,
    inventory,
    playbookPath: project.role === null ? `project/${name}` : null,
    limit: project.limit,
    settings: {
      title: project.role ?? name,
      ...what,
      inventory,
      variables: { type: "object" },
      credentials: project.credential_slots,
      tags: options.tags,
      skip_tags: options.skip_tags,
      ...(options.user === null ? {} : { user: options.user }),
      become: options.become,
      forks: options.forks,
      timeout_s: options.timeout_s,
      grace_s: options.grace_s,
    },
  };
}
