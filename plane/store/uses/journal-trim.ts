// Keeps a journal within its limits: the oldest rows go in the commit that would pass them, and what goes is counted.
import { cutOf, roomAfterCut, type Cut, type JournalLimits } from "../../journal/retention.ts";
import type { StoredJournal as Journal } from "../schema.ts";
import type { Write } from "../transaction.ts";
import { forgetNames } from "./journal-names.ts";

const LOOKED_AT_ONCE = 2_000;
/** Names are looked through when this many more than last time were added, so that it costs little in all. */
const NAMES_STEP = 1_024;

export async function trimJournal(
  write: Write,
  journal: Journal,
  limits: JournalLimits,
): Promise<Journal> {
  const held = { events: journal.retained, bytes: journal.bytes };
  const room = roomAfterCut(held, limits);
  if (room === null) return journal;
  const cut = await findCut(write, journal, (oldest) => cutOf(held, room, oldest));
  if (cut === null) return journal;
  const { db } = write;
  const gone = { journal: journal.id, to: cut.to };
  await db
    .deleteFrom("journal_events")
    .where("journal", "=", gone.journal)
    .where("sequence", "<=", gone.to)
    .execute();
  await db
    .deleteFrom("journal_gaps")
    .where("journal", "=", gone.journal)
    .where("to_sequence", "<=", gone.to)
    .execute();
  const first = await db
    .selectFrom("journal_events")
    .select("sequence")
    .where("journal", "=", gone.journal)
    .orderBy("sequence")
    .limit(1)
    .executeTakeFirst();
  const trimmed: Journal = {
    ...journal,
    retained: journal.retained - cut.events,
    bytes: journal.bytes - cut.bytes,
    first_sequence: first?.sequence ?? null,
    omitted: journal.omitted + cut.events,
    omitted_from: journal.omitted_from ?? cut.from,
    omitted_to: cut.to,
  };
  return withoutIdleNames(write, trimmed);
}

type Find = (
  oldest: readonly { readonly sequence: number; readonly bytes: number }[],
) => Cut | null;

async function findCut({ db }: Write, journal: Journal, find: Find): Promise<Cut | null> {
  const oldest: { sequence: number; bytes: number }[] = [];
  for (;;) {
    const page = await db
      .selectFrom("journal_events")
      .select(["sequence", "bytes"])
      .where("journal", "=", journal.id)
      .where("sequence", ">", oldest.at(-1)?.sequence ?? 0)
      .orderBy("sequence")
      .limit(LOOKED_AT_ONCE)
      .execute();
    oldest.push(...page);
    const cut = find(oldest);
    if (cut !== null || page.length < LOOKED_AT_ONCE) return cut;
  }
}

async function withoutIdleNames(write: Write, journal: Journal): Promise<Journal> {
  if (journal.names < journal.names_kept * 2 + NAMES_STEP) return journal;
  const left = await forgetNames(write, journal.id);
  return { ...journal, names: left, names_kept: left };
}
