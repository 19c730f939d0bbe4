// Who may do what: roles, actions and the one table between them. Routes name their action; `can` of the plane decides.
import { Type, type Static } from "typebox";
import { CatalogIdSchema } from "./ids.ts";

export const ROLES = [
  "viewer",
  "operator",
  "approver",
  "customer-admin",
  "platform-admin",
  "auditor",
  "runner",
] as const;
export type Role = (typeof ROLES)[number];
export const RoleSchema = Type.Enum([...ROLES]);

/** What a role may do it with: everything of its customers, or only what its holder owns. */
export type Reach = "all" | "own";

/** Actions and who has them. An action that a role does not have is refused as if the thing did not exist. */
export const ACTIONS = {
  "capabilities.read": { viewer: "all", operator: "all", approver: "all", auditor: "all" },
  "session.own": { viewer: "all", operator: "all", approver: "all", auditor: "all" },
  "job.read": { viewer: "all", operator: "own", approver: "all" },
  "job.prepare": { operator: "all" },
  "job.execute": { operator: "all" },
  "job.cancel": { operator: "own" },
  "job.retry": { operator: "own" },
  "job.delete": {},
  "revision.read": { operator: "own", approver: "all" },
  "revision.approve": { approver: "all" },
  "usage.read": { auditor: "all" },
  "user.read": {},
  "user.write": {},
  "token.own": { viewer: "all", operator: "all", approver: "all", auditor: "all" },
  "runner.read": { operator: "all" },
  "runner.write": {},
  "runner.work": {},
  "delivery.read": {},
  "delivery.write": {},
  "setting.write": {},
  "audit.read": { auditor: "all" },
  "metrics.read": { auditor: "all" },
} as const satisfies Record<string, Partial<Record<Role, Reach>>>;
export type Action = keyof typeof ACTIONS;
export const ACTION_NAMES = Object.keys(ACTIONS) as readonly Action[];

/** What an administrator of a customer has for it, beside all that its viewers, operators and approvers have. */
export const CUSTOMER_ADMIN_ACTIONS: ReadonlySet<Action> = new Set<Action>([
  "job.delete",
  "usage.read",
  "user.read",
]);

/** Not even a platform administrator does a runner's work or reads the audit: those are other people. */
export const NOT_FOR_ADMINS: ReadonlySet<Action> = new Set<Action>(["runner.work", "audit.read"]);

/** One role of a principal: for one customer or for all, and where wanted only for some job types. */
export const GrantedRoleSchema = Type.Object(
  {
    role: RoleSchema,
    /** Null for every customer. */
    customer: Type.Union([CatalogIdSchema, Type.Null()]),
    /** Only these job types; null for every one. */
    job_types: Type.Union([Type.Array(Type.String(), { minItems: 1, maxItems: 100 }), Type.Null()]),
  },
  { additionalProperties: false },
);
export type GrantedRole = Static<typeof GrantedRoleSchema>;

export const PRINCIPAL_KINDS = ["local", "user", "token", "service", "runner"] as const;
export type PrincipalKind = (typeof PRINCIPAL_KINDS)[number];

/** Whoever may open the plane's own socket owns the installation. */
export const LOCAL_PRINCIPAL_ID = "local";

/** Who asks. `local` is whoever may open the plane's own socket. */
export const PrincipalSchema = Type.Object(
  {
    kind: Type.Enum([...PRINCIPAL_KINDS]),
    id: Type.String({ minLength: 1, maxLength: 128 }),
    name: Type.String({ minLength: 1, maxLength: 255 }),
    roles: Type.Array(GrantedRoleSchema, { maxItems: 1000 }),
  },
  { additionalProperties: false },
);
export type Principal = Static<typeof PrincipalSchema>;
