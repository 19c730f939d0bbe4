// How a stream that was cut is gone on with: again after a while, from where it was seen to. Browser-safe.
import { isAimError, isClientError } from "./client-error.ts";

export interface Reconnection {
  /** Tries in a row without anything new before the fault is thrown. */
  readonly tries: number;
  /** Milliseconds before the first try; doubled for each further one, up to 5 s. */
  readonly firstDelayMs: number;
  readonly wait: (milliseconds: number) => Promise<void>;
}

const DELAY_MS_MAX = 5000;

export const RECONNECTION: Reconnection = {
  tries: 7,
  firstDelayMs: 100,
  wait: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
};

/** Whether the stream may be there again: it was cut, or its plane is going away or gone. */
export function mayResume(error: unknown, signal: AbortSignal | undefined): boolean {
  if (signal?.aborted === true) return false;
  if (isAimError(error)) return error.code === "shutting_down";
  return isClientError(error) && (error.code === "stream_cut" || error.code === "unreachable");
}

/** What `connect` yields, called again after each cut: it knows by itself how far its reader has come. */
export async function* resumed<T>(
  { tries, firstDelayMs, wait }: Reconnection,
  signal: AbortSignal | undefined,
  connect: () => AsyncIterable<T>,
): AsyncGenerator<T, void, undefined> {
  let failures = 0;
  for (;;) {
    try {
      for await (const one of connect()) {
        failures = 0;
        yield one;
      }
      return;
    } catch (error) {
      failures += 1;
      if (failures > tries || !mayResume(error, signal)) throw error;
    }
    await wait(Math.min(firstDelayMs * 2 ** (failures - 1), DELAY_MS_MAX));
  }
}
