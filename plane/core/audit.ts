// The audit as it is shown: rows as they stand, and the end of their chain under this installation's seal.
import {
  AUDIT_HEAD_PAYLOAD_TYPE,
  AUDIT_PER_PAGE_MAX,
  type AuditHead,
  type AuditRow,
  type Principal,
  type SealedAuditHead,
} from "@aim/contract";
import { formatTimestamp, type Clock } from "../base/clock.ts";
import type { Store } from "../store/store.ts";
import { requireIn } from "./rights.ts";
import { signed, type SigningKey } from "./seal-key.ts";

export interface AuditParts {
  readonly store: Pick<Store, "readAudit" | "readAuditEnd">;
  readonly clock: Clock;
  readonly key: SigningKey;
}

export interface Audit {
  /** Rows after a position, oldest first. The chain is one for all customers: so is the right to read it. */
  readonly rows: (who: Principal, after: number) => Promise<AuditRow[]>;
  readonly head: (who: Principal) => Promise<SealedAuditHead>;
}

export function createAudit({ store, clock, key }: AuditParts): Audit {
  const check = (who: Principal) => requireIn(who, "audit.read", { code: "not_permitted" });
  return {
    rows: async (who, after) => {
      check(who);
      return store.readAudit({ after, limit: AUDIT_PER_PAGE_MAX });
    },
    head: async (who) => {
      check(who);
      const end = await store.readAuditEnd();
      const head: AuditHead = { ...end, at: formatTimestamp(clock.now()) };
      return {
        payloadType: AUDIT_HEAD_PAYLOAD_TYPE,
        ...signed(AUDIT_HEAD_PAYLOAD_TYPE, head, key),
      };
    },
  };
}
