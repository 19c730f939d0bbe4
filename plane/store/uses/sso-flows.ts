// Logins by the identity provider between their begin and their end. Each is used once.
import type { Write } from "../transaction.ts";

/** The program that waits for the end of a login: where it listens, and what it has to know. */
export interface Waiter {
  readonly port: number;
  readonly challenge: string;
}

export interface SsoFlow {
  /** Of the id that only the browser has. */
  readonly hash: string;
  /** Hash of the session that the browser had at the begin; null for none. */
  readonly replaces: string | null;
  /** Null for a browser that wants a session. */
  readonly waiter: Waiter | null;
  readonly expires: number;
}

/** Forgets those that are over. Answers false where there are `most` others already. */
export async function saveSsoFlow(
  { db }: Write,
  use: SsoFlow & { readonly now: number; readonly most: number },
): Promise<boolean> {
  await db.deleteFrom("sso_flows").where("expires_ms", "<=", Math.round(use.now)).execute();
  const { open } = await db
    .selectFrom("sso_flows")
    .select(({ fn }) => fn.countAll<number | string>().as("open"))
    .executeTakeFirstOrThrow();
  if (Number(open) >= use.most) return false;
  await db
    .insertInto("sso_flows")
    .values({
      hash: use.hash,
      replaces: use.replaces,
      port: use.waiter?.port ?? null,
      challenge: use.waiter?.challenge ?? null,
      expires_ms: Math.round(use.expires),
    })
    .execute();
  return true;
}

/** Uses the flow up. Null for one that is unknown, used or over. */
export async function takeSsoFlow(
  { db }: Write,
  use: { readonly hash: string; readonly now: number },
): Promise<SsoFlow | null> {
  const row = await db
    .deleteFrom("sso_flows")
    .where("hash", "=", use.hash)
    .returningAll()
    .executeTakeFirst();
  if (row === undefined || use.now >= row.expires_ms) return null;
  const { challenge, expires_ms: expires, hash, port, replaces } = row;
  const waiter = port === null || challenge === null ? null : { port, challenge };
  return { hash, replaces, waiter, expires };
}
