// Rights at the door of the core. What somebody may not see is, for them, not there.
import { AimError, type Action, type Principal, type ProblemCode } from "@aim/contract";
import { can, type Resource } from "../auth/can.ts";
import type { Job } from "../execution/attempt.ts";
import type { Store } from "../store/store.ts";

export function resourceOf(job: Job): Resource {
  return { customer: job.customer, owner: job.owner, jobType: job.spec.job_type };
}

/** A refusal for want of a right, with what was asked for. To whoever asks it looks like any other. */
export class NotTheirs extends AimError {
  readonly asked: {
    readonly action: Action;
    readonly customer?: string | undefined;
    readonly jobId?: string;
    readonly userId?: string;
  };

  constructor(code: ProblemCode, asked: NotTheirs["asked"]) {
    super(code);
    this.asked = asked;
  }
}

/** Throws not_found for a job that the principal may not see, and not_permitted for one that it may only see. */
export function requireJob(principal: Principal, action: Action, job: Job): void {
  const resource = resourceOf(job);
  if (can(principal, action, resource)) return;
  const code = can(principal, "job.read", resource) ? "not_permitted" : "not_found";
  throw new NotTheirs(code, { action, customer: job.customer, jobId: job.id });
}

interface Sought {
  readonly who: Principal;
  readonly action: Action;
  readonly jobId: string;
}

/** A job and its attempts, oldest first. Throws as `requireJob` does, and not_found for one that is not there. */
export async function findJob(
  store: Pick<Store, "readJob">,
  { who, action, jobId }: Sought,
): Promise<NonNullable<Awaited<ReturnType<Store["readJob"]>>>> {
  const found = await store.readJob({ jobId });
  if (found === null) throw new AimError("not_found");
  requireJob(who, action, found.job);
  return found;
}

/** Whether the principal may read the job now: asked again and again of whoever follows it. */
export function mayStillRead(
  store: Pick<Store, "readJob">,
): (principal: Principal, jobId: string) => Promise<boolean> {
  return async (principal, jobId) => {
    const found = await store.readJob({ jobId });
    return found !== null && can(principal, "job.read", resourceOf(found.job));
  };
}

/** Throws `code` for a customer in which the principal may not do this: that it exists is not told. */
export function requireIn(
  principal: Principal,
  action: Action,
  { code, ...resource }: Resource & { readonly code: "unknown_customer" | "not_permitted" },
): void {
  if (!can(principal, action, resource)) {
    throw new NotTheirs(code, { action, customer: resource.customer });
  }
}
