// What the Core operations are lent. Assembled in compose.ts.
import type { NewId } from "../base/ids.ts";
import type { Clock } from "../base/clock.ts";
import type { Dispatcher } from "../execution/dispatcher.ts";
import type { Inspections } from "../execution/inspections.ts";
import type { Observer } from "../execution/observer.ts";
import type { Signals } from "../execution/signals.ts";
import type { Blobs } from "../store/blobs.ts";
import type { Store } from "../store/store.ts";
import type { Audit } from "./audit.ts";
import type { FindEntry } from "./catalog.ts";
import type { CredentialDesk } from "./credentials.ts";
import type { Sealer } from "./seal.ts";

export interface CoreParts {
  readonly store: Store;
  readonly blobs: Blobs;
  readonly clock: Clock;
  readonly newId: NewId;
  /** Hex SHA-256 of a text in UTF-8. */
  readonly digest: (text: string) => string;
  readonly dispatcher: Dispatcher;
  readonly inspections: Inspections;
  readonly signals: Signals;
  readonly findEntry: FindEntry;
  readonly credentials: CredentialDesk;
  readonly sealer: Sealer;
  readonly audit: Audit;
  readonly observer: Observer;
  /** The administrator's switch, read anew each time. */
  readonly mayExecute: () => Promise<boolean>;
  /** Whether some playbook of a customer asks for approval. */
  readonly asksApproval: (customer: string) => Promise<boolean>;
}
