// Narrows a query on jobs to what a principal may read. Every list that a client sees goes through it.
import type { ExpressionBuilder, ExpressionWrapper, SqlBool } from "kysely";
import type { Scope } from "../../auth/can.ts";
import type { Schema } from "../schema.ts";

/** For a query that has `jobs` in it. */
export function within(
  scope: Scope,
): (where: ExpressionBuilder<Schema, "jobs">) => ExpressionWrapper<Schema, "jobs", SqlBool> {
  return (where) => {
    if (scope.customers === null) return where.and([]);
    const own = where("jobs.owner", "=", scope.principal);
    const ownHere =
      scope.ownIn === null ? own : where.and([own, where.or(inside(where, scope.ownIn))]);
    return where.or([...inside(where, scope.customers), ownHere]);
  };
}

function inside(
  where: ExpressionBuilder<Schema, "jobs">,
  customers: readonly string[],
): ExpressionWrapper<Schema, "jobs", SqlBool>[] {
  return customers.length === 0 ? [] : [where("jobs.customer_id", "in", [...customers])];
}
