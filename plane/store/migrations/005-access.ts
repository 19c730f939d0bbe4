// Whose a job is: the principal that asked for it. Jobs from before belong to whoever owns the installation.
export const access: readonly string[] = [
  `ALTER TABLE jobs ADD COLUMN owner TEXT NOT NULL DEFAULT 'local'`,
  `ALTER TABLE revisions ADD COLUMN owner TEXT NOT NULL DEFAULT 'local'`,
  `CREATE INDEX jobs_by_owner ON jobs (customer_id, owner, id)`,
];
