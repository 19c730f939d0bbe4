// Who this runner is to its plane: it registers, and on a remote plane renews its session before that ends.
import { setTimeout as delay } from "node:timers/promises";
import { AimError, type Register, type Registered } from "@aim/contract";

const RETRY_MS = { first: 250, most: 5_000 } as const;

export interface SessionParts {
  readonly register: (body: Register, token: string | null) => Promise<Registered>;
  readonly body: Register;
  /** Reads the enrolment token anew, so that it can be replaced; null on the local socket. */
  readonly enrolment: () => string | null;
  readonly onToken: (token: string) => void;
  readonly log: (code: string, error?: unknown) => void;
}

export interface Session {
  /** Registers once: with the session when there is one, else with the enrolment token. */
  readonly register: () => Promise<void>;
  /** Registers as soon as the plane takes this runner. */
  readonly join: () => Promise<void>;
}

export function createSession(parts: SessionParts): Session {
  let token: string | null = null;
  let renewal: NodeJS.Timeout | undefined;

  async function register(): Promise<void> {
    const { session } = await (token === null ? enrol() : renew(token));
    token = session?.token ?? null;
    if (session === null) return;
    parts.onToken(session.token);
    clearTimeout(renewal);
    renewal = setTimeout(() => void join(), session.renew_after_ms).unref();
  }

  const enrol = (): Promise<Registered> => parts.register(parts.body, parts.enrolment());

  async function renew(session: string): Promise<Registered> {
    try {
      return await parts.register(parts.body, session);
    } catch (error) {
      if (!(error instanceof AimError) || error.code !== "unauthenticated") throw error;
      return enrol();
    }
  }

  async function join(): Promise<void> {
    let told = "";
    for (let pause: number = RETRY_MS.first; ; pause = Math.min(2 * pause, RETRY_MS.most)) {
      try {
        await register();
        if (told !== "") parts.log("registered");
        return;
      } catch (error) {
        const code = error instanceof AimError ? `not_registered:${error.code}` : "not_registered";
        const words = `${code} ${String(error)}`;
        if (words !== told) parts.log(code, error);
        told = words;
        await delay(pause);
      }
    }
  }

  return { register, join };
}
