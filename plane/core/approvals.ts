// Four eyes: a revision that asks for approval runs only when somebody else looked at exactly it and said yes.
import {
  AimError,
  type NormalizedRequest,
  type Principal,
  type Review,
  type RevisionView,
} from "@aim/contract";
import { allowed } from "../audit/chain.ts";
import { can } from "../auth/can.ts";
import { formatTimestamp } from "../base/clock.ts";
import type { StoredApproval } from "../store/uses/approvals.ts";
import type { StoredRevision } from "../store/uses/revisions.ts";
import type { Entry } from "./catalog.ts";
import type { CoreParts } from "./parts.ts";

const LISTED_MAX = 200;

export type ApprovalParts = Pick<CoreParts, "clock" | "store">;

export interface Approvals {
  /** Revisions that may still be executed and that the principal may read; `waiting` leaves out those that need nobody. */
  readonly list: (who: Principal, waiting: boolean) => Promise<RevisionView[]>;
  readonly read: (who: Principal, revision: string) => Promise<RevisionView>;
  /** Throws approval_own for whoever prepared it. */
  readonly approve: (who: Principal, revision: string) => Promise<RevisionView>;
}

export function createApprovals(parts: ApprovalParts): Approvals {
  const { store, clock } = parts;

  async function list(who: Principal, waiting: boolean): Promise<RevisionView[]> {
    const found = await store.listRevisions({ now: clock.now(), limit: LISTED_MAX });
    const readable = found.filter((one) => can(who, "revision.read", resourceOf(one)));
    const views = await Promise.all(readable.map(view));
    return views.filter(({ review: { approval } }) => {
      return !waiting || (approval?.required === true && approval.by === null);
    });
  }

  async function find(who: Principal, revision: string): Promise<StoredRevision> {
    const found = await store.readRevision({ revision });
    if (found === null || !can(who, "revision.read", resourceOf(found))) {
      throw new AimError("not_found");
    }
    return found;
  }

  async function approve(who: Principal, revision: string): Promise<RevisionView> {
    const found = await find(who, revision);
    const now = clock.now();
    if (!can(who, "revision.approve", resourceOf(found))) throw new AimError("not_permitted");
    if (found.owner === who.id) throw new AimError("approval_own");
    if (found.usedBy !== null) throw new AimError("revision_used");
    if (now >= found.expires) throw new AimError("revision_expired");
    const { customer, expires } = found;
    const by = { by: who.id, byName: who.name, approved: now };
    const what = { revision };
    const audit = allowed(who, { action: "revision.approve", customer, what, now });
    await store.saveApproval({ revision, customer, expires, ...by, audit });
    return view(found);
  }

  async function view(found: StoredRevision): Promise<RevisionView> {
    const approval = await store.readApproval({ revision: found.revision, now: clock.now() });
    return viewOf(found, approval);
  }

  return { list, approve, read: async (who, revision) => view(await find(who, revision)) };
}

/**
 * The name of whoever approved the revision, or null where nobody had to. Throws approval_required while nobody has, and
 * approval_own for the one who did.
 */
export async function requireApproval(
  parts: ApprovalParts,
  who: Principal,
  { entry, revision }: { readonly entry: Entry; readonly revision: string },
): Promise<string | null> {
  const approval = await parts.store.readApproval({ revision, now: parts.clock.now() });
  if (entry.settings.approval === "required") {
    if (approval === null) throw new AimError("approval_required");
    if (approval.by === who.id) throw new AimError("approval_own");
  }
  return approval?.byName ?? null;
}

function resourceOf({ customer, owner, review }: StoredRevision) {
  return { customer, owner, jobType: reviewOf(review).job_type };
}

function reviewOf(text: string): Review {
  return JSON.parse(text) as Review;
}

function viewOf(found: StoredRevision, approval: StoredApproval | null): RevisionView {
  const { approval: asked, ...review } = reviewOf(found.review);
  const told = asked === undefined ? {} : { approval: { ...asked, by: approval?.byName ?? null } };
  return {
    revision: found.revision,
    customer: found.customer,
    playbook: found.playbook,
    prepared_by: found.owner,
    prepared_at: formatTimestamp(found.created),
    expires_at: formatTimestamp(found.expires),
    request: JSON.parse(found.request) as NormalizedRequest,
    review: { ...review, ...told },
  };
}
