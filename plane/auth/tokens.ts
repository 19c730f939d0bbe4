// Runner identities: signed tokens that a plane can check without having stored them. Knows no HTTP and no store.
import { createHmac } from "node:crypto";
import { AimError, canonicalJson } from "@aim/contract";
import { sameText } from "./secrets.ts";

const VERSION = 1;
const PREFIX = { enrolment: "aim_enr_", session: "aim_rnr_" } as const;
const SESSION_MS = 15 * 60_000;
/** Two more tries fit between the renewal and the end. */
const RENEW_AFTER_MS = 10 * 60_000;

/** What a token lets a runner be and take. */
export interface Enrolment {
  /** Who it is, in the words of whoever made the token. */
  readonly name: string;
  /** The only job types that it may take; null for all. */
  readonly jobTypes: readonly string[] | null;
}

export interface Session extends Enrolment {
  /** The one instance that the session is for. */
  readonly runner: string;
}

export interface RunnerTokens {
  readonly enrol: (enrolment: Enrolment, ttlMs: number) => string;
  readonly open: (session: Session) => { token: string; renew_after_ms: number };
  /** Both throw unauthenticated for a token that is damaged, forged, of the other kind or over. */
  readonly readEnrolment: (token: string) => Enrolment;
  readonly readSession: (token: string) => Session;
  /** Says which of the two a token claims to be. */
  readonly isSession: (token: string) => boolean;
}

type Kind = keyof typeof PREFIX;

interface Payload {
  readonly v: typeof VERSION;
  readonly kind: Kind;
  readonly name: string;
  readonly job_types: readonly string[] | null;
  /** Milliseconds since 1970. */
  readonly exp: number;
  readonly runner?: string;
}

/** `now` answers the plane's milliseconds since 1970. */
export function createRunnerTokens(key: Uint8Array, now: () => number): RunnerTokens {
  const macOf = (text: string) => createHmac("sha256", key).update(text).digest("base64url");

  function sign(payload: Payload): string {
    const body = Buffer.from(canonicalJson(payload)).toString("base64url");
    const text = `${PREFIX[payload.kind]}${body}`;
    return `${text}.${macOf(text)}`;
  }

  function read(kind: Kind, token: string): Payload {
    const end = token.lastIndexOf(".");
    const text = token.slice(0, Math.max(0, end));
    // The texts are compared, not what they stand for: the same bytes have more than one spelling.
    if (!sameText(token.slice(end + 1), macOf(text))) throw new AimError("unauthenticated");
    const body = Buffer.from(text.slice(PREFIX[kind].length), "base64url").toString();
    if (!text.startsWith(PREFIX[kind])) throw new AimError("unauthenticated");
    const payload = JSON.parse(body) as Payload;
    const good = payload.v === VERSION && payload.kind === kind && now() < payload.exp;
    if (!good) throw new AimError("unauthenticated");
    return payload;
  }

  return {
    enrol: ({ name, jobTypes }, ttlMs) =>
      sign({
        v: VERSION,
        kind: "enrolment",
        name,
        job_types: jobTypes,
        exp: Math.floor(now() + ttlMs),
      }),
    open: ({ name, jobTypes, runner }) => ({
      token: sign({
        v: VERSION,
        kind: "session",
        name,
        job_types: jobTypes,
        runner,
        exp: Math.floor(now() + SESSION_MS),
      }),
      renew_after_ms: RENEW_AFTER_MS,
    }),
    readEnrolment: (token) => {
      const { name, job_types: jobTypes } = read("enrolment", token);
      return { name, jobTypes };
    },
    readSession: (token) => {
      const { name, job_types: jobTypes, runner } = read("session", token);
      if (runner === undefined) throw new AimError("unauthenticated");
      return { name, jobTypes, runner };
    },
    isSession: (token) => token.startsWith(PREFIX.session),
  };
}
