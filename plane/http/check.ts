// Checks a parsed body against its schema and names the field that is wrong.
import type { Static, TSchema } from "typebox";
import { Compile, type Validator } from "typebox/compile";
import { AimError } from "@aim/contract";

const compiled = new WeakMap<TSchema, Validator>();

/** Answers the body as its type. Throws unknown_field or invalid_request with the field's JSON Pointer. */
export function check<S extends TSchema>(schema: S, body: unknown): Static<S> {
  let validator = compiled.get(schema);
  if (validator === undefined) {
    validator = Compile(schema);
    compiled.set(schema, validator);
  }
  if (validator.Check(body)) return body as Static<S>;
  const errors = validator.Errors(body);
  const unknown = errors.find(({ keyword }) => keyword === "boolean");
  if (unknown !== undefined) throw new AimError("unknown_field", unknown.instancePath);
  const missing = errors.find(({ keyword }) => keyword === "required");
  const fields = (missing?.params as { requiredProperties?: string[] } | undefined)
    ?.requiredProperties;
  if (missing !== undefined) {
    throw new AimError("invalid_request", `${missing.instancePath}/${fields?.[0] ?? ""}`);
  }
  throw new AimError("invalid_request", errors[0]?.instancePath ?? "");
}
