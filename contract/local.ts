// What only a caller on the same machine may say to a personal plane.
import { Type, type Static } from "typebox";
import { CatalogIdSchema, Sha256Schema, TimestampSchema } from "./ids.ts";
import { SlotNameSchema } from "./job-spec.ts";

const closed = { additionalProperties: false } as const;

export const ProjectSchema = Type.Object(
  {
    /** Absolute path of the playbook, or of the project folder when `role` is given. */
    playbook: Type.String({ minLength: 1, maxLength: 4096 }),
    role: Type.Union([Type.String({ minLength: 1, maxLength: 255 }), Type.Null()]),
    /** Absolute paths of inventory files or folders. */
    inventory: Type.Array(Type.String({ minLength: 1, maxLength: 4096 }), {
      minItems: 1,
      maxItems: 32,
    }),
    /** Absolute path of a known_hosts file, or null for none. */
    known_hosts: Type.Union([Type.String({ minLength: 1, maxLength: 4096 }), Type.Null()]),
    limit: Type.Union([Type.String({ minLength: 1, maxLength: 4096 }), Type.Null()]),
    credential_slots: Type.Array(SlotNameSchema, { maxItems: 32 }),
    options: Type.Object(
      {
        forks: Type.Integer({ minimum: 1, maximum: 500 }),
        tags: Type.Array(Type.String({ pattern: "^[A-Za-z0-9_.][A-Za-z0-9_.-]*$" }), {
          maxItems: 64,
        }),
        skip_tags: Type.Array(Type.String({ pattern: "^[A-Za-z0-9_.][A-Za-z0-9_.-]*$" }), {
          maxItems: 64,
        }),
        user: Type.Union([
          Type.String({ pattern: "^[A-Za-z0-9_.][A-Za-z0-9_.@-]*$", maxLength: 64 }),
          Type.Null(),
        ]),
        become: Type.Boolean(),
        timeout_s: Type.Integer({ minimum: 1, maximum: 7 * 24 * 3600 }),
        grace_s: Type.Integer({ minimum: 0, maximum: 3600 }),
      },
      closed,
    ),
  },
  closed,
);
export type Project = Static<typeof ProjectSchema>;

export const RegisteredProjectSchema = Type.Object(
  {
    customer: CatalogIdSchema,
    playbook: CatalogIdSchema,
    /** Inventory names that the limit selects, in inventory order. */
    hosts: Type.Array(Type.String()),
  },
  closed,
);
export type RegisteredProject = Static<typeof RegisteredProjectSchema>;

/** Slot to secret. Travels once, over the local socket, and is never stored. */
export const CredentialsSchema = Type.Record(
  SlotNameSchema,
  Type.String({ minLength: 1, maxLength: 65_536 }),
  closed,
);
export type Credentials = Static<typeof CredentialsSchema>;

/** Asks the plane for a backup in a folder of its machine that is not there yet. */
export const BackupRequestSchema = Type.Object(
  { path: Type.String({ minLength: 1, maxLength: 4_096 }), with_keys: Type.Boolean() },
  closed,
);
export type BackupRequest = Static<typeof BackupRequestSchema>;

/** What a backup holds. Stands in it as `backup.json`. */
export const BackupReportSchema = Type.Object(
  {
    backup_version: Type.Literal("1.0"),
    product_version: Type.String(),
    taken_at: TimestampSchema,
    /** `postgresql`: the rows are not in it; take them with pg_dump, before the backup. */
    database: Type.Enum(["sqlite", "postgresql"]),
    /** How many files and parts that rows name. */
    blobs: Type.Integer({ minimum: 0 }),
    /** Those that rows name and that never arrived. */
    missing: Type.Array(Sha256Schema),
    with_keys: Type.Boolean(),
  },
  closed,
);
export type BackupReport = Static<typeof BackupReportSchema>;

export const CREDENTIAL_SLOTS = [
  "ssh_password",
  "become_password",
  "ssh_key",
  "ssh_key_passphrase",
  "vault_password",
] as const;
export type CredentialSlot = (typeof CREDENTIAL_SLOTS)[number];

export const AcceptanceSchema = Type.Object(
  {
    ansible_core: Type.String(),
    callback_digest: Sha256Schema,
    passed: Type.Integer({ minimum: 1 }),
  },
  closed,
);
export type Acceptance = Static<typeof AcceptanceSchema>;
