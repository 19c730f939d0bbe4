// Clients that do not trust their network: some cut the connection after sending, and all repeat until they are answered.
import { request } from "node:http";
import { connect } from "node:net";
import { expect } from "vitest";
import { heard, type Heard } from "../crash/place.ts";
import { call } from "../harness/wire.ts";
import type { Chance } from "../simulation/chance.ts";

export interface Sending {
  readonly socketPath: string;
  readonly chance: Chance;
  /** How often a connection breaks after the request went out and before its answer came. */
  readonly cuts: number;
}

/** Sends the JSON body until it is answered. */
export async function send<T>(
  { socketPath, chance, cuts }: Sending,
  path: string,
  body: unknown,
): Promise<Heard<T>> {
  const text = JSON.stringify(body);
  while (chance.happens(cuts)) await sendAndCut(socketPath, path, text);
  return heard<T>(await call({ socketPath, path, body: text }));
}

/** The request leaves whole; nobody reads what comes back. */
function sendAndCut(socketPath: string, path: string, text: string): Promise<void> {
  return new Promise((resolve) => {
    const headers = {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(text),
    };
    const createConnection = () => connect(socketPath);
    const outgoing = request({ path, method: "POST", headers, createConnection });
    outgoing.on("error", () => undefined);
    outgoing.on("close", resolve);
    outgoing.end(text, () => outgoing.destroy());
  });
}

/** Every answer is this one text, byte for byte. */
export function expectOneText(answers: readonly Heard<unknown>[]): void {
  expect(answers.filter(({ ok }) => !ok)).toEqual([]);
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
}
