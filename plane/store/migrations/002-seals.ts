// Seals: one signed envelope for each attempt that left a manifest.
export const seals: readonly string[] = [
  `CREATE TABLE seals (
     attempt_id TEXT PRIMARY KEY NOT NULL REFERENCES attempts (id), customer_id TEXT NOT NULL,
     manifest_digest TEXT NOT NULL, envelope TEXT NOT NULL, sealed_ms BIGINT NOT NULL)`,
];

export const sealsSqlite: readonly string[] = [
  `CREATE TRIGGER seals_stand BEFORE UPDATE ON seals
     BEGIN SELECT RAISE(ABORT, 'a seal never changes'); END`,
];

export const sealsPostgres: readonly string[] = [
  `CREATE FUNCTION seals_stand() RETURNS trigger LANGUAGE plpgsql AS $$
     BEGIN RAISE EXCEPTION 'a seal never changes'; END $$`,
  `CREATE TRIGGER seals_stand BEFORE UPDATE ON seals FOR EACH ROW EXECUTE FUNCTION seals_stand()`,
];
