// The names of a journal: texts that its rows refer to by number. Only ever added, until no row needs one.
import { sql, type Kysely } from "kysely";
import { JOURNAL_KINDS, KIND_MASK, NAMED_TIME, type NameOf } from "../../journal/row.ts";
import { hashOf } from "../../journal/names.ts";
import type { Schema } from "../schema.ts";
import type { Write } from "../transaction.ts";

export interface NamedJournal {
  readonly id: number;
  readonly customer: string;
  readonly lastName: number;
}

/** The numbers of these texts; fresh ones are given to those that had none. The caller holds the attempt. */
export async function internNames(
  { db }: Write,
  journal: NamedJournal,
  texts: ReadonlySet<string>,
): Promise<{ readonly ids: ReadonlyMap<string, number>; readonly fresh: number }> {
  const ids = new Map<string, number>();
  if (texts.size === 0) return { ids, fresh: 0 };
  const hashes = new Map([...texts].map((text) => [text, hashOf(text)]));
  const found = await db
    .selectFrom("journal_names")
    .select(["id", "name"])
    .where("journal", "=", journal.id)
    .where("hash", "in", [...new Set(hashes.values())])
    .execute();
  for (const { id, name } of found) if (texts.has(name)) ids.set(name, id);
  let next = journal.lastName;
  const rows = [...hashes]
    .filter(([text]) => !ids.has(text))
    .map(([name, hash]) => {
      next += 1;
      ids.set(name, next);
      return { journal: journal.id, id: next, hash, name, customer_id: journal.customer };
    });
  if (rows.length > 0) await db.insertInto("journal_names").values(rows).execute();
  return { ids, fresh: rows.length };
}

/** Texts of names, by their numbers; a name that is gone is left out. */
export async function readJournalNames(
  db: Kysely<Schema>,
  use: { readonly journal: number; readonly ids: readonly number[] },
): Promise<{ readonly id: number; readonly name: string }[]> {
  if (use.ids.length === 0) return [];
  return db
    .selectFrom("journal_names")
    .select(["id", "name"])
    .where("journal", "=", use.journal)
    .where("id", "in", [...use.ids])
    .execute();
}

export async function readNames(
  db: Kysely<Schema>,
  journal: number,
  ids: ReadonlySet<number>,
): Promise<NameOf> {
  const rows = await readJournalNames(db, { journal, ids: [...ids] });
  const names = new Map(rows.map(({ id, name }) => [id, name]));
  return (id) => {
    const name = names.get(id);
    if (name === undefined) throw new Error(`journal ${journal} has no name ${id}`);
    return name;
  };
}

const IN_DETAIL = [JOURNAL_KINDS.indexOf("host_result"), JOURNAL_KINDS.indexOf("result")];

/** Forgets the names that no row refers to; answers how many are left. */
export async function forgetNames({ db }: Write, journal: number): Promise<number> {
  const events = sql`journal_events WHERE journal = ${journal}`;
  await sql`
    DELETE FROM journal_names WHERE journal = ${journal} AND id NOT IN (
      SELECT name FROM ${events} AND name IS NOT NULL
      UNION SELECT detail FROM ${events} AND detail IS NOT NULL
        AND (kind & ${sql.lit(KIND_MASK)}) IN (${sql.join(IN_DETAIL.map((kind) => sql.lit(kind)))})
      UNION SELECT -play FROM ${events} AND play < 0
      UNION SELECT -task FROM ${events} AND task < 0
      UNION SELECT at FROM ${events} AND (kind & ${sql.lit(NAMED_TIME)}) <> 0)`.execute(db);
  const { left } = await db
    .selectFrom("journal_names")
    .select(({ fn }) => fn.countAll<number>().as("left"))
    .where("journal", "=", journal)
    .executeTakeFirstOrThrow();
  return left;
}
