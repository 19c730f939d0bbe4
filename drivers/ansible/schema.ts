// What a client may ask of Ansible. Strict: an unknown field is refused. Browser-safe.
import { Type, type Static } from "typebox";

const closed = { additionalProperties: false } as const;
const path = Type.String({ pattern: "^[^/\\u0000-\\u001f-][^\\u0000-\\u001f]*$", maxLength: 1024 });
const tag = Type.String({ pattern: "^[A-Za-z0-9_.][A-Za-z0-9_.-]*$", maxLength: 128 });

const target = {
  inventory: Type.Array(path, { minItems: 1, maxItems: 32 }),
  /** Reviewed inventory names, exact, in request order. */
  hosts: Type.Array(Type.String({ minLength: 1, maxLength: 4096 }), { maxItems: 10_000 }),
  /** An Ansible pattern that an inspection resolves when no hosts are named. */
  limit: Type.Optional(Type.String({ minLength: 1, maxLength: 4096 })),
};

const run = {
  ...target,
  variables: Type.Record(Type.String(), Type.Unknown()),
  progress_mode: Type.Enum(["summary", "detail"]),
  credential_slots: Type.Array(Type.String(), { maxItems: 32 }),
  tags: Type.Array(tag, { maxItems: 64 }),
  skip_tags: Type.Array(tag, { maxItems: 64 }),
  forks: Type.Integer({ minimum: 1, maximum: 500 }),
  user: Type.Union([
    Type.String({ pattern: "^[A-Za-z0-9_.][A-Za-z0-9_.@-]*$", maxLength: 64 }),
    Type.Null(),
  ]),
  become: Type.Boolean(),
  operation_result: Type.Union([
    Type.Object(
      { key: Type.String({ pattern: "^[A-Za-z_][A-Za-z0-9_]{0,62}$" }), schema: Type.Unknown() },
      closed,
    ),
    Type.Null(),
  ]),
};

export const PlaybookInputsSchema = Type.Object({ playbook: path, ...run }, closed);
export const RoleInputsSchema = Type.Object(
  {
    role: Type.String({ pattern: "^[A-Za-z0-9_][A-Za-z0-9_.-]*$", maxLength: 255 }),
    gather_facts: Type.Boolean(),
    ...run,
  },
  closed,
);
export const InventoryInputsSchema = Type.Object(target, closed);

export type PlaybookInputs = Static<typeof PlaybookInputsSchema>;
export type RoleInputs = Static<typeof RoleInputsSchema>;
export type InventoryInputs = Static<typeof InventoryInputsSchema>;
export type RunInputs = PlaybookInputs | RoleInputs;
