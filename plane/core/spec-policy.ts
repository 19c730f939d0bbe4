// What a job's spec must be before it is accepted. Throws the problem of the first thing that is wrong.
import { Compile, type Validator } from "typebox/compile";
import { AimError, type BundleFile, type JobSpec } from "@aim/contract";
import type { Inspection, JobTypeDeclaration } from "@aim/drivers/kit";
import { JOB_TYPES } from "@aim/drivers/schemas";
import { checkHosts } from "./inputs.ts";
import type { CoreParts } from "./parts.ts";
import { inspectionOf } from "./prepare.ts";
import { findSecret } from "./secret-shapes.ts";

const validators = new Map<string, Validator>();

/** Checks all that the spec itself says; reads no content. */
export function checkSpec(spec: JobSpec): JobTypeDeclaration {
  const type = JOB_TYPES.get(spec.job_type);
  if (type === undefined) throw new AimError("job_type_unknown", "/spec/job_type");
  const secret = findSecret(spec.inputs, "/spec/inputs");
  if (secret !== null) throw new AimError("secret_in_inputs", secret);
  checkInputs(spec, type);
  checkSecrets(spec, type);
  if (type.effect === "destroy" && !spec.destructive) {
    throw new AimError("destructive_not_marked", "/spec/destructive");
  }
  return type;
}

function checkInputs({ inputs }: JobSpec, type: JobTypeDeclaration): void {
  const validator = validators.get(type.jobType) ?? Compile(type.inputsSchema);
  validators.set(type.jobType, validator);
  if (!validator.Check(inputs)) {
    const [error] = validator.Errors(inputs);
    throw new AimError("invalid_inputs", `/spec/inputs${error?.instancePath ?? ""}`);
  }
  const { hosts, limit } = inputs as { hosts?: readonly string[]; limit?: string };
  if (hosts === undefined) return;
  // Each target is accounted for by its name: a job names them all.
  if (hosts.length === 0) throw new AimError("no_hosts", "/spec/inputs/hosts");
  checkHosts(hosts, "/spec/inputs/hosts");
  if (limit !== undefined) throw new AimError("invalid_inputs", "/spec/inputs/limit");
}

function checkSecrets({ inputs, secrets }: JobSpec, type: JobTypeDeclaration): void {
  const slots = type.requirements(inputs).credentialSlots;
  for (const [slot, { from }] of Object.entries(secrets)) {
    if (!slots.includes(slot)) throw new AimError("credential_unknown", `/spec/secrets/${slot}`);
    if (from !== "caller") throw new AimError("secrets_unsupported", `/spec/secrets/${slot}`);
  }
  const missing = slots.find((slot) => !Object.hasOwn(secrets, slot));
  if (missing !== undefined) throw new AimError("credential_missing", `/spec/secrets/${missing}`);
}

/** A job that does not say that it may destroy is looked at first; one that says so is taken at its word. */
export async function checkContent(
  parts: CoreParts,
  spec: JobSpec,
  files: readonly BundleFile[],
): Promise<void> {
  const type = JOB_TYPES.get(spec.job_type);
  if (spec.destructive || type === undefined || type.effect === "none") return;
  if (parts.dispatcher.readyRunner() === null) throw new AimError("runner_unavailable");
  const question = { jobType: spec.job_type, inputs: spec.inputs, files };
  const found = inspectionOf((await parts.inspections.ask(question)) as Inspection);
  const [because] = found.destructive_because;
  if (because !== undefined) throw new AimError("destructive_not_marked", because);
}
