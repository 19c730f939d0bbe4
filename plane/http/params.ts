// What stands in paths and queries. An id that cannot be one is as unknown as one that nobody has.
import { Compile } from "typebox/compile";
import type { TString } from "typebox";
import { AimError } from "@aim/contract";

/** Whether a text has the shape that the contract gives it. */
export function isOf(shape: TString): (text: string) => boolean {
  const validator = Compile(shape);
  return (text) => validator.Check(text);
}

/** Reads the id `name` out of a path; throws not_found for anything else. */
export function idIn(name: string, shape: TString): (params: unknown) => string {
  const fits = isOf(shape);
  return (params) => {
    const { [name]: id = "" } = params as Record<string, string | undefined>;
    if (!fits(id)) throw new AimError("not_found");
    return id;
  };
}

/** A place behind which to read on; throws invalid_request at `at`. */
export function positionOf(text: string, at: string): number {
  const position = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(position)) throw new AimError("invalid_request", at);
  return position;
}

/** The position behind `after` in a query; 0 without one. */
export function afterOf(query: unknown): number {
  const { after = "0" } = query as { after?: string };
  return positionOf(after, "/after");
}

/** How much of a list is asked for; throws invalid_request. */
export function limitOf(
  text: string | undefined,
  { most, usual }: { readonly most: number; readonly usual: number },
): number {
  const limit = text === undefined ? usual : Number(text);
  if (!Number.isInteger(limit) || limit < 1 || limit > most) {
    throw new AimError("invalid_request", "/limit");
  }
  return limit;
}
