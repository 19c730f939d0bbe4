// What was refused leaves a trace: a log line for each refused or failed request, and a row of the audit where a right
// was missing. Written after the answer, so that the time of an answer tells nothing about what is there.
import type { FastifyInstance, FastifyRequest } from "fastify";
import {
  ROUTES,
  type Action,
  type AimError,
  type Principal,
  type ProblemCode,
  type Route,
} from "@aim/contract";
import type { AuditEntry } from "../audit/chain.ts";
import type { CoreParts } from "../core/parts.ts";
import { NotTheirs } from "../core/rights.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Why the request was refused; null for one that was not. */
    refusal: AimError | null;
  }
}

const ABOUT_RIGHTS: ReadonlySet<ProblemCode> = new Set([
  "not_permitted",
  "unauthenticated",
  "login_refused",
  "setup_refused",
  "sso_refused",
  "sso_denied",
  "sso_no_role",
  "logout_refused",
]);
/** A stranger must not fill the disk: above this only the number is told, with the next row. */
const STRANGERS_PER_MINUTE = 60;
const MINUTE_MS = 60_000;

const NAME_OF: ReadonlyMap<string, readonly [string, Action | null]> = new Map(
  Object.entries<Route>(ROUTES).map(([name, { method, path, action }]) => [
    `${method} ${path}`,
    [name, action],
  ]),
);

type Parts = {
  readonly store: Pick<CoreParts["store"], "recordAudit">;
  readonly clock: Pick<CoreParts["clock"], "now">;
};

export function traceRefusals(app: FastifyInstance, parts: Parts): void {
  const record = createRecord(parts);
  const pending = new Set<Promise<void>>();
  app.decorateRequest("refusal", null);
  app.addHook("onResponse", async (request) => {
    const { refusal } = request;
    if (refusal === null) return;
    const { code, status } = refusal;
    const [route = "none"] = nameOf(request);
    const facts = { code, status, route, principal: request.principal?.id ?? null };
    if (status >= 500) request.log.warn(facts, "a request failed");
    else request.log.info(facts, "a request was refused");
    const writing = record(request, refusal).catch((error: unknown) =>
      request.log.error({ err: error, code: "audit_failed" }, "a refusal is not in the audit"),
    );
    pending.add(writing);
    await writing;
    pending.delete(writing);
  });
  app.addHook("onClose", async () => void (await Promise.all(pending)));
}

/** Name of the route in the route table and its action; empty for what is none. */
export function nameOf({
  method,
  routeOptions,
}: FastifyRequest): readonly [string, Action | null] | [] {
  return NAME_OF.get(`${method} ${routeOptions.url ?? ""}`) ?? [];
}

function createRecord({ store, clock }: Parts) {
  let strangers = { since: 0, told: 0, untold: 0 };

  /** How many strangers were passed over before this one; null when it is passed over itself. */
  function passStranger(now: number): number | null {
    if (now - strangers.since >= MINUTE_MS) {
      strangers = { since: now, told: 0, untold: strangers.untold };
    }
    if (strangers.told >= STRANGERS_PER_MINUTE) {
      strangers.untold += 1;
      return null;
    }
    const { untold } = strangers;
    strangers = { ...strangers, told: strangers.told + 1, untold: 0 };
    return untold;
  }

  return async (request: FastifyRequest, refusal: AimError): Promise<void> => {
    const entry = entryOf(request, refusal, clock.now());
    if (entry === null) return;
    const untold = entry.who === null ? passStranger(entry.now) : 0;
    if (untold === null) return;
    const detail = untold === 0 ? entry.detail : { ...entry.detail, unrecorded: untold };
    await store.recordAudit({ entry: { ...entry, detail } });
  };
}

function entryOf(request: FastifyRequest, refusal: AimError, now: number): AuditEntry | null {
  const theirs = refusal instanceof NotTheirs ? refusal.asked : null;
  if (theirs === null && !ABOUT_RIGHTS.has(refusal.code)) return null;
  const [route, ofRoute] = nameOf(request);
  const asked = { action: ofRoute ?? "capabilities.read", ...theirs };
  return {
    who: whoWas(request),
    action: asked.action,
    customer: theirs?.customer ?? null,
    outcome: "refused",
    what: {
      ...(theirs?.jobId === undefined ? {} : { job_id: theirs.jobId }),
      ...(theirs?.userId === undefined ? {} : { user_id: theirs.userId }),
    },
    detail: { code: refusal.code, ...(route === undefined ? {} : { route }) },
    now,
  };
}

/** The runners' routes ask nobody's principal. */
function whoWas({ principal }: { readonly principal?: Principal | null }): AuditEntry["who"] {
  if (principal === null || principal === undefined) return null;
  const { kind, id, name } = principal;
  return { kind, id, name };
}
