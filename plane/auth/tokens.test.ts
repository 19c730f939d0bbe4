import { expect, test } from "vitest";
import { createRunnerTokens, type Session } from "./tokens.ts";

const KEY = new Uint8Array(32).fill(7);
const MINUTE = 60_000;
const NOW = 1_800_000_000_000;
const SESSION: Session = {
  name: "depot",
  jobTypes: ["ansible.playbook.run"],
  runner: `rnr_${"0".repeat(26)}`,
};

function tokensAt(start: number) {
  let now = start;
  const tokens = createRunnerTokens(KEY, () => now);
  return { tokens, pass: (ms: number) => (now += ms) };
}

const refused = expect.objectContaining({ code: "unauthenticated" });

test("a token says who its runner is until its time is over", () => {
  const { tokens, pass } = tokensAt(NOW);
  const { jobTypes, name } = SESSION;
  const token = tokens.enrol({ name, jobTypes }, MINUTE);
  expect(token).toMatch(/^aim_enr_[\w-]+\.[\w-]{43}$/);
  pass(MINUTE - 1);
  expect(tokens.readEnrolment(token)).toEqual({ name, jobTypes });
  pass(1);
  expect(() => tokens.readEnrolment(token)).toThrow(refused);
});

test("a session is renewed before it ends, and a renewed one lives longer", () => {
  const { tokens, pass } = tokensAt(NOW);
  const first = tokens.open(SESSION);
  pass(first.renew_after_ms);
  expect(tokens.readSession(first.token)).toEqual(SESSION);
  const second = tokens.open(SESSION);
  pass(first.renew_after_ms);
  expect(() => tokens.readSession(first.token)).toThrow(refused);
  expect(tokens.readSession(second.token)).toEqual(SESSION);
});

test("a token of one kind is none of the other, whatever it begins with", () => {
  const { tokens } = tokensAt(NOW);
  const enrolment = tokens.enrol({ name: "depot", jobTypes: null }, MINUTE);
  const { token: session } = tokens.open(SESSION);
  expect(() => tokens.readSession(enrolment)).toThrow(refused);
  expect(() => tokens.readEnrolment(session)).toThrow(refused);
  expect(() => tokens.readSession(enrolment.replace("aim_enr_", "aim_rnr_"))).toThrow(refused);
});

test("a token with any one bit flipped is none", () => {
  const { tokens } = tokensAt(NOW);
  const { token } = tokens.open(SESSION);
  let flips = 0;
  for (let at = 0; at < token.length; at += 1) {
    for (let bit = 0; bit < 8; bit += 1) {
      const bytes = Buffer.from(token, "latin1");
      bytes[at] = (bytes[at] ?? 0) ^ (1 << bit);
      expect(() => tokens.readSession(bytes.toString("latin1"))).toThrow(refused);
      flips += 1;
    }
  }
  expect(flips).toBe(token.length * 8);
});

test("a token of another installation, a piece of one and none at all are refused", () => {
  const { tokens } = tokensAt(NOW);
  const other = createRunnerTokens(new Uint8Array(32).fill(8), () => NOW);
  const { token } = other.open(SESSION);
  for (const text of [token, token.slice(0, -1), token.split(".")[0] ?? "", "aim_rnr_.", ".", ""]) {
    expect(() => tokens.readSession(text)).toThrow(refused);
  }
});
