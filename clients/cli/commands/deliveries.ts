// `aimctl deliveries`: what callbacks were told, what waits, what was given up; and sends one of the last once more.
import type { Delivery } from "@aim/contract";
import { connect } from "../connection.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { visible } from "../render/escape.ts";
import { print } from "../render/print.ts";
import { tableLines } from "../render/table.ts";
import type { GlobalFlags, OutputFlags } from "../settings.ts";

export interface DeliveriesFlags extends OutputFlags {
  readonly dead?: boolean;
}

export async function deliveries(flags: DeliveriesFlags): Promise<ExitCode> {
  const client = connect(flags);
  const found = await client.deliveries(flags.dead === true ? "dead" : undefined);
  print(flags, found, table);
  return EXIT.ok;
}

function table(found: readonly Delivery[]): string[] {
  if (found.length === 0) return ["No delivery."];
  const rows = found.map((delivery) => [
    delivery.event_id,
    String(delivery.callback_index),
    delivery.run_id,
    delivery.type,
    delivery.state,
    String(delivery.tries),
    [delivery.last_error, delivery.last_status].filter((fact) => fact !== null).join(" "),
    delivery.url,
  ]);
  return tableLines(["EVENT", "INDEX", "RUN", "TYPE", "STATE", "TRIES", "LAST", "URL"], rows);
}

export async function replay(
  eventId: string,
  callbackIndex: number,
  flags: GlobalFlags,
): Promise<ExitCode> {
  const client = connect(flags);
  await client.replayDelivery({ event_id: eventId, callback_index: callbackIndex });
  process.stdout.write(`${visible(eventId)} is sent again.\n`);
  return EXIT.ok;
}
