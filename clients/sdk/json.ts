// Routes that answer one JSON document, or RFC 9457 details for a refusal.
import { AimError, isProblemCode } from "@aim/contract";
import { ClientError } from "./client-error.ts";
import type { Answer, Call, Transport } from "./transport.ts";

/** Throws AimError for a refusal and ClientError for an answer that is cut or foreign. */
export async function jsonAnswer<T>(transport: Transport, call: Call): Promise<T> {
  const answer = await transport(call);
  if (answer.status >= 300) throw await refusalOf(answer);
  return parse(await textOf(answer)) as T;
}

export async function refusalOf(answer: Answer): Promise<Error> {
  return refusal(parse(await textOf(answer)));
}

interface Problem {
  readonly code: unknown;
  readonly at: unknown;
}

/** The exception for a problem that a plane told, in a line or as a document. */
export function refusal(problem: Partial<Problem>): Error {
  const { at, code } = problem;
  if (!isProblemCode(code)) return new ClientError("bad_answer");
  return new AimError(code, typeof at === "string" ? at : undefined);
}

/** Leaves out what is undefined; empty for nothing. */
export function queryOf(values: Readonly<Record<string, string | number | undefined>>): string {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(values)) {
    if (value !== undefined) query.set(key, String(value));
  }
  return query.size === 0 ? "" : `?${query.toString()}`;
}

export async function drain(answer: Answer): Promise<void> {
  for await (const chunk of answer.chunks) void chunk;
}

async function textOf(answer: Answer): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  try {
    for await (const chunk of answer.chunks) text += decoder.decode(chunk, { stream: true });
  } catch (error) {
    throw new ClientError("stream_cut", { cause: error });
  }
  return text + decoder.decode();
}

function parse(text: string): object {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new ClientError(text === "" ? "stream_cut" : "bad_answer", { cause: error });
  }
  if (typeof value !== "object" || value === null) throw new ClientError("bad_answer");
  return value;
}
