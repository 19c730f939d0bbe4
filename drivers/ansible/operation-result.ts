// The one value that a playbook may return: declared, small, of its schema and free of credentials, or withheld.
import { Compile } from "typebox/compile";
import { canonicalJson, parseStrict, type RunErrorCode } from "@aim/contract";
import type { Books } from "./projection.ts";
import type { RunInputs } from "./schema.ts";

export const OPERATION_RESULT_BYTES_MAX = 64 * 1024;

type Checked =
  | { readonly ok: true; readonly value: Record<string, unknown> | null }
  | { readonly ok: false; readonly code: RunErrorCode };

/** Lets a declared result through only if it is there, small, of its schema and free of credentials. */
export function checkOperationResult(
  inputs: Pick<RunInputs, "operation_result">,
  books: Pick<Books, "data">,
  holdsCredential: (text: string) => boolean,
): Checked {
  const declared = inputs.operation_result;
  if (declared === null) return { ok: true, value: null };
  if (books.data === null) return { ok: false, code: "operation_result_missing" };
  try {
    const value = parseStrict(books.data);
    const text = canonicalJson(value);
    const fits = Buffer.byteLength(text) <= OPERATION_RESULT_BYTES_MAX;
    if (!fits || textsOf(value).some(holdsCredential)) throw new RangeError();
    if (!Compile(declared.schema as object).Check(value)) throw new TypeError();
    return { ok: true, value };
  } catch {
    return { ok: false, code: "operation_result_invalid" };
  }
}

function textsOf(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [String(value)];
  return Object.entries(value).flatMap(([key, item]) => [key, ...textsOf(item)]);
}
