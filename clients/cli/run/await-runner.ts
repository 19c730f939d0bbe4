// A plane that has just begun has no runner yet: its runner first checks its own sandbox.
import type { Client } from "@aim/sdk";

const WAIT_MS_MAX = 15_000;
const POLL_MS = 200;

/** Gives back once a runner is ready, or after 15 s without one: the plane's own refusal then says what is wrong. */
export async function awaitRunner(client: Client, onWait: () => void): Promise<void> {
  const deadline = performance.now() + WAIT_MS_MAX;
  let told = false;
  while (!(await client.capabilities()).runtime_ready) {
    if (performance.now() > deadline) return;
    if (!told) onWait();
    told = true;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
