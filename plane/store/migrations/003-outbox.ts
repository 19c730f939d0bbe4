// The outbox: events that callbacks are told, written with the change they tell of, and their deliveries.
export const outbox: readonly string[] = [
  `CREATE TABLE outbox (
     id TEXT PRIMARY KEY NOT NULL, customer_id TEXT NOT NULL,
     attempt_id TEXT NOT NULL REFERENCES attempts (id), sequence INTEGER NOT NULL,
     type TEXT NOT NULL, body TEXT NOT NULL, created_ms BIGINT NOT NULL,
     UNIQUE (attempt_id, sequence))`,
  `CREATE INDEX outbox_by_age ON outbox (created_ms)`,
  `CREATE TABLE deliveries (
     event_id TEXT NOT NULL REFERENCES outbox (id), callback_index INTEGER NOT NULL,
     customer_id TEXT NOT NULL, attempt_id TEXT NOT NULL, sequence INTEGER NOT NULL,
     url TEXT NOT NULL, state TEXT NOT NULL, tries INTEGER NOT NULL,
     since_ms BIGINT NOT NULL, next_try_ms BIGINT NOT NULL,
     last_status INTEGER, last_error TEXT, claimed_by TEXT, claimed_until_ms BIGINT,
     PRIMARY KEY (event_id, callback_index))`,
  `CREATE INDEX deliveries_due ON deliveries (next_try_ms) WHERE state = 'waiting'`,
  `CREATE INDEX deliveries_in_order ON deliveries (attempt_id, callback_index, sequence)`,
  `CREATE INDEX deliveries_dead ON deliveries (since_ms) WHERE state = 'dead'`,
];

export const outboxSqlite: readonly string[] = [
  `CREATE TRIGGER outbox_stands BEFORE UPDATE ON outbox
     BEGIN SELECT RAISE(ABORT, 'a told event never changes'); END`,
];

export const outboxPostgres: readonly string[] = [
  `CREATE FUNCTION outbox_stands() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN RAISE EXCEPTION 'a told event never changes'; END $$`,
  `CREATE TRIGGER outbox_stands BEFORE UPDATE ON outbox FOR EACH ROW EXECUTE FUNCTION outbox_stands()`,
];
