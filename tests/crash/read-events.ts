// The events of every attempt as a reader gets them from the plane, once all of them have ended.
import { canonicalJson } from "@aim/contract";
import { createClient } from "@aim/sdk";
import type { Row } from "../harness/stored.ts";
import type { Rows } from "./judge.ts";
import type { Place } from "./place.ts";

export async function readEvents(place: Place, rows: Rows): Promise<Row[]> {
  const client = createClient({ socketPath: place.socketOf("client") });
  const read: Row[] = [];
  for (const row of rows("SELECT id FROM attempts")) {
    const id = String(row["id"]);
    for await (const line of client.follow(id)) {
      if (line.type === "response") break;
      const { sequence } = line.event;
      read.push({ attempt_id: id, sequence, event: canonicalJson(line.event) });
    }
  }
  return read;
}
