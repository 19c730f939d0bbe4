// Faults between a client and the plane. A refusal by the plane is an AimError of the contract, never one of these.
import type { AimError } from "@aim/contract";

export const CLIENT_FAULTS = {
  unreachable: "No plane answers there.",
  stream_cut: "The answer ended before it was complete.",
  line_too_long: "A line of the answer is longer than a client accepts.",
  bad_line: "A line of the answer is not one of the contract.",
  bad_answer: "The answer is not one of the contract.",
  digest_mismatch: "The bytes of the artifact do not have its digest.",
} as const;
export type ClientFaultCode = keyof typeof CLIENT_FAULTS;

/** Thrown when an answer is missing, cut or not of the contract. Holds no text of the answer. */
export class ClientError extends Error {
  override readonly name = "ClientError";
  readonly code: ClientFaultCode;

  constructor(code: ClientFaultCode, options?: ErrorOptions) {
    super(CLIENT_FAULTS[code], options);
    this.code = code;
  }
}

export function isClientError(error: unknown): error is ClientError {
  return error instanceof Error && error.name === "ClientError";
}

/** Recognises the contract's refusal by its name, so that it also works across copies of the package. */
export function isAimError(error: unknown): error is AimError {
  return error instanceof Error && error.name === "AimError";
}
