// The identity provider tells of a logout: everything that the user has here ends. Each token of a logout counts once.
import { allowed } from "../../audit/chain.ts";
import type { RouteName } from "@aim/contract";
import type { Write } from "../transaction.ts";
import { writeAudit } from "./audit.ts";
import { bumpRights } from "./rights-epoch.ts";

export interface SsoLogout {
  readonly jtiDigest: string;
  readonly issuer: string;
  /** At least one of the two is not null. */
  readonly subject: string | null;
  readonly subjectDigest: string | null;
  readonly sidDigest: string | null;
  readonly now: number;
  /** Until when the token itself is good, and must not come again. */
  readonly expires: number;
  readonly route: RouteName;
}

/** Answers false for a token that came before. A user who is not known here has nothing to end: that is true too. */
export async function ssoLogout(write: Write, use: SsoLogout): Promise<boolean> {
  const { db } = write;
  const now = Math.round(use.now);
  // Logins do the same first: of two that meet, the second sees what the first has done.
  await bumpRights(write);
  await db.deleteFrom("sso_logouts").where("expires_ms", "<=", now).execute();
  const { numInsertedOrUpdatedRows } = await db
    .insertInto("sso_logouts")
    .values({
      jti: use.jtiDigest,
      subject: use.subjectDigest,
      sid: use.sidDigest,
      at_ms: now,
      expires_ms: Math.round(use.expires),
    })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  if (numInsertedOrUpdatedRows !== 1n) return false;
  const user = await findUser(write, use);
  if (user === undefined) return true;
  await db.deleteFrom("sessions").where("user_id", "=", user.id).execute();
  await db.deleteFrom("sso_codes").where("user_id", "=", user.id).execute();
  await db
    .updateTable("api_tokens")
    .set({ revoked_ms: now })
    .where("user_id", "=", user.id)
    .where("revoked_ms", "is", null)
    .execute();
  await writeAudit(
    write,
    allowed(
      { kind: "user", id: user.id, name: user.name },
      {
        action: "session.own",
        customer: null,
        what: { user_id: user.id },
        detail: { route: use.route },
        now,
      },
    ),
  );
  return true;
}

async function findUser({ db }: Write, use: SsoLogout) {
  const users = db.selectFrom("users").select(["users.id", "users.name"]);
  if (use.subject !== null) {
    return users
      .where("oidc_issuer", "=", use.issuer)
      .where("oidc_subject", "=", use.subject)
      .executeTakeFirst();
  }
  return users
    .innerJoin("sso_sids", "sso_sids.user_id", "users.id")
    .where("sso_sids.sid", "=", use.sidDigest)
    .executeTakeFirst();
}
