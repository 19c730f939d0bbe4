// Server-sent events from bytes, wherever the chunks are cut. Browser-safe.
import { readLines } from "./ndjson.ts";

export interface ServerEvent {
  readonly name: string;
  /** The newest id so far, or null. */
  readonly id: string | null;
  readonly data: string;
}

/** Whole messages only: one that was cut is none. Throws as `readLines`. */
export async function* readServerEvents(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<ServerEvent, void, undefined> {
  let id: string | null = null;
  let name = "message";
  let data: string[] = [];
  for await (const text of readLines(chunks)) {
    const line = text.replace(/\r$/, "");
    if (line === "") {
      if (data.length > 0) yield { name, id, data: data.join("\n") };
      name = "message";
      data = [];
      continue;
    }
    const [, field = "", value = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === "id") id = value;
    else if (field === "event") name = value;
    else if (field === "data") data.push(value);
  }
}
