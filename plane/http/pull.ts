// How an open answer is fed: it looks, writes, and waits until something may be new. The store is the buffer: nothing is
// queued for a reader, a slow one only slows itself, and one that takes nothing is cut off.
import type { ServerResponse } from "node:http";
import type { Listening } from "../execution/signals.ts";

/** A reader that takes nothing for this long is cut off. */
const STALLED_MS = 30_000;

export interface Reader {
  readonly raw: ServerResponse;
  /** Listens for what wakes it; called before each look. */
  readonly listen: () => Listening;
  /** Writes what is new by `send`, which answers false for a reader that is gone; answers what comes next. */
  readonly look: (send: Send) => Promise<"again" | "wait" | "end">;
}

export type Send = (bytes: string | Buffer) => Promise<boolean>;

/** Resolves when the reader is gone or `look` has said `end`. */
export async function pull({ raw, listen, look }: Reader): Promise<void> {
  let listening: Listening | null = null;
  raw.on("close", () => listening?.stop());
  const send: Send = async (bytes) => {
    const taken = !raw.destroyed && (await write(raw, bytes));
    if (!taken) raw.destroy();
    return taken;
  };
  while (!raw.destroyed) {
    // Listens before it looks: what is stored while it looks must not wait for the next look.
    listening = listen();
    try {
      const next = await look(send);
      if (next === "end") return;
      if (next === "wait") await listening.woken;
    } finally {
      listening.stop();
    }
  }
}

/** Answers false when the reader is gone or took nothing for too long. */
async function write(raw: ServerResponse, bytes: string | Buffer): Promise<boolean> {
  if (raw.write(bytes)) return true;
  return new Promise<boolean>((resolve) => {
    const settle = (drained: boolean) => {
      clearTimeout(timer);
      raw.off("drain", onDrain);
      raw.off("close", onClose);
      resolve(drained);
    };
    const onDrain = () => settle(true);
    const onClose = () => settle(false);
    const timer = setTimeout(onClose, STALLED_MS);
    raw.once("drain", onDrain);
    raw.once("close", onClose);
  });
}
