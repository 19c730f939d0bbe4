// Whose call a runner's is: on the local socket that of whoever may open it, over TLS that of a token's bearer.
import type { FastifyInstance, FastifyRequest } from "fastify";
import { AimError, ROUTES, type Register, type Registered } from "@aim/contract";
import type { Enrolment, RunnerTokens, Session } from "../auth/tokens.ts";

/** No token may name its runner so. */
export const LOCAL_NAME = "local";

export interface Admitted {
  /** What the runner said of itself, cut down to what its token lets it take. */
  readonly register: Register;
  readonly name: string;
  readonly session: Registered["session"];
}

export interface RunnerGuard {
  /** Adds the checks that every call has to pass before its route sees it. */
  readonly protect: (app: FastifyInstance) => void;
  readonly admit: (request: FastifyRequest, register: Register) => Promise<Admitted>;
}

export const LOCAL_GUARD: RunnerGuard = {
  protect: () => undefined,
  admit: async (_, register) => ({ register, name: LOCAL_NAME, session: null }),
};

export interface TokenGuardParts {
  readonly tokens: RunnerTokens;
  /** The runner that holds or held an attempt, or null. */
  readonly holderOf: (attemptId: string) => Promise<string | null>;
  /** The name that a runner registered with, or null for an unknown one. */
  readonly nameOf: (runner: string) => Promise<string | null>;
}

type Caller = Enrolment & Partial<Pick<Session, "runner">>;

/** Asks every call for a token: an enrolment or a session to register, a session for everything else. */
export function createTokenGuard({ tokens, holderOf, nameOf }: TokenGuardParts): RunnerGuard {
  function callerOf(request: FastifyRequest): Caller {
    const token = /^Bearer ([\w.-]{1,16384})$/.exec(request.headers.authorization ?? "")?.[1] ?? "";
    const enrols = request.routeOptions.url === ROUTES.register.path && !tokens.isSession(token);
    return enrols ? tokens.readEnrolment(token) : tokens.readSession(token);
  }

  async function checkWhatIsNamed(request: FastifyRequest): Promise<void> {
    const { runner } = callerOf(request);
    if (runner === undefined) return;
    const { runner_instance_id: named = runner } = (request.body ?? {}) as Record<string, unknown>;
    if (named !== runner) throw new AimError("unauthenticated");
    const { run_id } = request.params as { run_id?: string };
    if (run_id !== undefined && (await holderOf(run_id)) !== runner) {
      throw new AimError("not_found");
    }
  }

  async function admit(request: FastifyRequest, register: Register): Promise<Admitted> {
    const { name, jobTypes } = callerOf(request);
    const runner = register.runner_instance_id;
    // With a token of its own nobody becomes a runner that another token let in.
    const known = await nameOf(runner);
    if (known !== null && known !== name) throw new AimError("unauthenticated");
    const allowed = register.job_types.filter((type) => jobTypes?.includes(type) ?? true);
    if (allowed.length === 0) throw new AimError("invalid_request", "/job_types");
    return {
      register: { ...register, job_types: allowed },
      name,
      session: tokens.open({ name, jobTypes, runner }),
    };
  }

  return {
    protect: (app) => {
      // Before a byte of the body is read.
      app.addHook("onRequest", async (request) => void callerOf(request));
      app.addHook("preHandler", checkWhatIsNamed);
    },
    admit,
  };
}
