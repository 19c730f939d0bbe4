import { expect, test } from "vitest";
import { AimError, type Register } from "@aim/contract";
import { createSession } from "./session.ts";

const BODY = { runner_instance_id: "rnr_1" } as Register;

/** A session with a plane that answers each registration as told; `until` waits for that many. */
function registering(answer: (token: string | null, call: number) => string | null, renewMs = 10) {
  const tokens: (string | null)[] = [];
  const taken: string[] = [];
  const logged: string[] = [];
  let enrolments = 0;
  let wake = () => undefined as void;
  const session = createSession({
    body: BODY,
    register: async (_, token) => {
      tokens.push(token);
      wake();
      const fresh = answer(token, tokens.length);
      const given = fresh === null ? null : { token: fresh, renew_after_ms: renewMs };
      return { lease_ms: 1, session: given };
    },
    enrolment: () => {
      enrolments += 1;
      return `enrolment ${enrolments}`;
    },
    onToken: (token) => taken.push(token),
    log: (code) => logged.push(code),
  });
  const until = (calls: number) =>
    new Promise<void>((resolve) => {
      wake = () => tokens.length >= calls && resolve();
      wake();
    });
  return { session, tokens, taken, logged, until };
}

test("a session is renewed with itself before it ends, again and again", async () => {
  const { session, tokens, taken, until } = registering((_, call) => `session ${call}`);
  await session.join();
  await until(3);
  expect(tokens.slice(0, 3)).toEqual(["enrolment 1", "session 1", "session 2"]);
  expect(taken.slice(0, 2)).toEqual(["session 1", "session 2"]);
});

test("a session that is over is replaced with the enrolment token as it stands then", async () => {
  const { session, tokens } = registering((token, call) => {
    if (token?.startsWith("session") === true) throw new AimError("unauthenticated");
    return `session ${call}`;
  }, 60_000);
  await session.register();
  await session.register();
  expect(tokens).toEqual(["enrolment 1", "session 1", "enrolment 2"]);
});

test("a runner that is not let in says so once and goes on asking", async () => {
  const { session, tokens, logged } = registering((_, call) => {
    if (call < 3) throw new AimError("unauthenticated");
    return null;
  });
  await session.join();
  expect(tokens).toHaveLength(3);
  expect(logged).toEqual(["not_registered:unauthenticated", "registered"]);
});
