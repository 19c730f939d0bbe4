// A personal plane ends when nobody needs it: no open request and no live attempt for a while.
import type { FastifyInstance } from "fastify";
import type { Store } from "./store/store.ts";

const LOOK_EVERY_MS = 1_000;

export interface Watched {
  readonly app: FastifyInstance;
  readonly store: Store;
  readonly idleMs: number;
}

export function watchIdleness({ app, store, idleMs }: Watched, onIdle: () => void): void {
  let open = 0;
  let lastUse = performance.now();
  app.server.on("request", (_, response) => {
    open += 1;
    response.once("close", () => {
      open -= 1;
      lastUse = performance.now();
    });
  });
  const timer = setInterval(async () => {
    if (open > 0 || performance.now() - lastUse < idleMs) return;
    if ((await store.liveAttempts()).length > 0) return;
    clearInterval(timer);
    onIdle();
  }, LOOK_EVERY_MS);
  timer.unref();
}
