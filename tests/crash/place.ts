// Where a plane stands, whichever process is it just now, and a door to it that is patient while there is none.
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { isProblemCode, type ProblemCode } from "@aim/contract";
import { call, type RawAnswer, type RawCall } from "../harness/wire.ts";
import { launchPlane, type Launched, type Launching } from "./processes.ts";

/** So long a caller waits after a broken call before it looks again. */
const PAUSE_MS = 5;

export type Face = "client" | "runner";

export interface Place {
  readonly home: string;
  readonly stateDir: string;
  readonly socketOf: (face: Face) => string;
  readonly isUp: () => boolean;
  /** Resolves once a plane is ready here. */
  readonly up: () => Promise<void>;
  /** Starts the next process; its predecessor must have ended. */
  readonly start: (how?: Launching) => Launched;
  /** Ends the process that stands here, if there is one; answers how it ended. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<NodeJS.Signals | number | null>;
}

/** `own` arguments stand on the command line of every process that is started here. */
export function createPlace(home: string, own: readonly string[] = []): Place {
  const stateDir = join(home, "state");
  let standing: Launched | null = null;
  let up = Promise.withResolvers<void>();
  let isUp = false;

  function start(how: Launching = {}): Launched {
    const launched = launchPlane(home, { ...how, arguments: [...own, ...(how.arguments ?? [])] });
    standing = launched;
    void launched.ready.then((ready) => {
      isUp = ready;
      if (ready) up.resolve();
    });
    void launched.ended.then(() => {
      if (isUp) up = Promise.withResolvers<void>();
      isUp = false;
      standing = null;
    });
    return launched;
  }

  return {
    home,
    stateDir,
    socketOf: (face) => join(stateDir, face === "client" ? "aimd.sock" : "runner.sock"),
    isUp: () => isUp,
    up: () => up.promise,
    start,
    stop: async (signal = "SIGTERM") => {
      const launched = standing;
      launched?.kill(signal);
      return launched === null ? null : launched.ended;
    },
  };
}

export type Heard<T> = { readonly status: number; readonly text: string } & (
  | { readonly ok: true; readonly response: T }
  | { readonly ok: false; readonly code: ProblemCode }
);

export type Ask = Omit<RawCall, "socketPath">;

export interface Door {
  /** Repeats the call until a plane has answered it, however often they die. */
  readonly ask: <T>(face: Face, what: Ask) => Promise<Heard<T>>;
}

/** Goes to the place at `first`, and to the next one when no plane is there. */
export function openDoor(places: readonly [Place, ...Place[]], first = 0): Door {
  let at = first;
  const place = (): Place => places[at % places.length] ?? places[0];

  async function once(face: Face, what: Ask): Promise<RawAnswer | null> {
    await Promise.race(places.map((one) => one.up()));
    while (!place().isUp() && places.some((one) => one.isUp())) at += 1;
    const answer = await call({ socketPath: place().socketOf(face), ...what }).catch(() => null);
    // A plane that ends refuses what it might have taken.
    return answer?.status === 503 ? null : answer;
  }

  return {
    ask: async <T>(face: Face, what: Ask) => {
      for (;;) {
        const answer = await once(face, what);
        if (answer !== null) return heard<T>(answer);
        await delay(PAUSE_MS);
      }
    },
  };
}

/** Understands both ways in which a plane answers: as JSON lines and as plain JSON. */
export function heard<T>({ status, text }: RawAnswer): Heard<T> {
  if (status === 204) return { ok: true, status, response: null as T, text };
  const { type, error, response, code } = JSON.parse(text) as {
    readonly type?: string;
    readonly error?: { readonly code: string };
    readonly response?: T;
    readonly code?: string;
  };
  if (status >= 400 || type === "error") {
    const refusal = error?.code ?? code;
    return { ok: false, status, code: isProblemCode(refusal) ? refusal : "internal", text };
  }
  return {
    ok: true,
    status,
    response: type === "response" ? (response as T) : JSON.parse(text),
    text,
  };
}
