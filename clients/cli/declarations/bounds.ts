// The contract's bounds again, as numbers of their own: loading the contract for them would more than double what help
// takes. A test holds them against the contract.
export const AUDIT_ROWS_MAX = 500;
export const JOBS_MAX = 200;
export const JOURNAL_RECORDS = { usual: 200, most: 500 } as const;
export const TOKEN_TTL_S = { least: 60, most: 7_776_000, default: 28_800 } as const;
