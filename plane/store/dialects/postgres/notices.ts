// Wakes waiters in every plane of one database by LISTEN and NOTIFY. A hint only: a lost notice costs one second.
import pg from "pg";
import { createSignals, type Signals } from "../../../execution/signals.ts";

const CHANNEL = "aim_wake";
const RECONNECT_MS = 1_000;

/** Local waiters wake at once; those of other planes when the notice arrives. */
export function createSharedSignals(
  url: string,
): Signals & { readonly close: () => Promise<void> } {
  const local = createSignals();
  let client: pg.Client | null = null;
  let closed = false;

  async function connect(): Promise<void> {
    const fresh = new pg.Client({ connectionString: url, application_name: "aimd notices" });
    fresh.on("notification", ({ payload }) => local.wake(payload ?? ""));
    fresh.on("error", () => undefined);
    fresh.on("end", () => {
      client = null;
      if (!closed) setTimeout(() => void connect().catch(() => undefined), RECONNECT_MS).unref();
    });
    await fresh.connect();
    // A notice writes nothing that must last: without this each one waits for the disk of the server.
    await fresh.query("SET synchronous_commit = off");
    await fresh.query(`LISTEN ${CHANNEL}`);
    client = fresh;
  }

  void connect().catch(() => undefined);
  return {
    listen: local.listen,
    wakes: local.wakes,
    wake: (topic) => {
      local.wake(topic);
      client?.query("SELECT pg_notify($1, $2)", [CHANNEL, topic]).catch(() => undefined);
    },
    close: async () => {
      closed = true;
      await client?.end();
    },
  };
}
