// The store's port: one asynchronous function for each use. Nothing outside this folder speaks SQL.
import type { READS, WRITES } from "./uses/index.ts";

type Uses = typeof READS & typeof WRITES;

/** Leaves out the database, which only the dialect has. */
type Bound<F> = F extends (db: never, ...use: infer U) => infer R ? (...use: U) => R : never;

export type Store = { readonly [K in keyof Uses]: Bound<Uses[K]> } & {
  /** Copies the database into a new file while it goes on being used; null where the database has means of its own. */
  readonly backup: ((use: { readonly path: string }) => Promise<void>) | null;
  readonly close: () => Promise<void>;
};
