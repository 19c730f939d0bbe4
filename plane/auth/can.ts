// The one decision: may this principal do this to that. Pure; every route asks it and nothing else decides.
import {
  ACTIONS,
  CUSTOMER_ADMIN_ACTIONS,
  NOT_FOR_ADMINS,
  type Action,
  type GrantedRole,
  type Principal,
  type Reach,
  type Role,
} from "@aim/contract";

/** What the action is about. A member that is absent does not narrow: the thing has no customer, owner or type. */
export interface Resource {
  readonly customer?: string;
  /** Id of the principal that made it. */
  readonly owner?: string;
  readonly jobType?: string;
}

export function can(subject: Principal, action: Action, resource: Resource = {}): boolean {
  return subject.roles.some((grant) => grants(grant, action, { ...resource, subject }));
}

/** Whether there is anything at all that the principal may do this to: the first question at a route. */
export function mayAtAll(subject: Principal, action: Action): boolean {
  return subject.roles.some(({ role }) => reachOf(role, action) !== null);
}

interface Asked extends Resource {
  readonly subject: Principal;
}

function grants(grant: GrantedRole, action: Action, asked: Asked): boolean {
  const reach = reachOf(grant.role, action);
  if (reach === null) return false;
  if (grant.customer !== null && grant.customer !== asked.customer) {
    // What belongs to no customer is open to whoever has the role anywhere, if the role is about such things.
    if (asked.customer !== undefined || !ABOUT_NOBODY.has(action)) return false;
  }
  if (grant.job_types !== null && asked.jobType !== undefined) {
    if (!grant.job_types.includes(asked.jobType)) return false;
  }
  return reach === "all" || asked.owner === undefined || asked.owner === asked.subject.id;
}

/** Actions whose thing has no customer, and which a role for one customer has all the same. */
const ABOUT_NOBODY: ReadonlySet<Action> = new Set<Action>([
  "capabilities.read",
  "session.own",
  "token.own",
  "runner.read",
]);

function reachOf(role: Role, action: Action): Reach | null {
  if (role === "platform-admin") return NOT_FOR_ADMINS.has(action) ? null : "all";
  const table: Partial<Record<Role, Reach>> = ACTIONS[action];
  if (role === "customer-admin") {
    const below = [table.viewer, table.operator, table.approver].some(
      (reach) => reach !== undefined,
    );
    return below || CUSTOMER_ADMIN_ACTIONS.has(action) ? "all" : null;
  }
  if (role === "runner") return action === "runner.work" ? "all" : null;
  return table[role] ?? null;
}

/** Customers in which the principal may do this: null for all of them. For lists, which show only what may be read. */
export interface Scope {
  readonly customers: readonly string[] | null;
  /** Customers in which only what the principal owns counts; null for all of them. */
  readonly ownIn: readonly string[] | null;
  readonly principal: string;
}

export function scopeOf(subject: Principal, action: Action): Scope {
  const whole = customersOf(subject, action, "all");
  return {
    customers: whole,
    ownIn: whole === null ? [] : customersOf(subject, action, "own"),
    principal: subject.id,
  };
}

function customersOf(subject: Principal, action: Action, reach: Reach): string[] | null {
  const found = new Set<string>();
  for (const { customer, role } of subject.roles) {
    if (reachOf(role, action) !== reach) continue;
    if (customer === null) return null;
    found.add(customer);
  }
  return [...found];
}
