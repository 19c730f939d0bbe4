// What everything about users, sessions and tokens is lent, and how long these live.
import type { Passwords } from "../auth/passwords.ts";
import type { CoreParts } from "./parts.ts";

export type AccessParts = Pick<CoreParts, "clock" | "newId" | "store">;

export interface LoginParts extends AccessParts {
  readonly passwords: Passwords;
}

export const SESSION_IDLE_MS = 30 * 60_000;
export const SESSION_MS = 12 * 3_600_000;
/** Of a session by the identity provider where it does not tell of logouts: then it is asked again. */
export const SSO_SESSION_MS = 15 * 60_000;
export const SETUP_CODE_MS = 24 * 3_600_000;
/** A session or a token is not written to more often than this. */
export const TOUCH_MS = 60_000;
