// Tokens that ended long ago are found by their end, not by looking at all.
export const tokenEnds: readonly string[] = [
  `CREATE INDEX api_tokens_by_end ON api_tokens (expires_ms)`,
];
