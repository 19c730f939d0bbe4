// Times of events as whole microseconds since 1970.

/** Null for a text that is no moment of the calendar, or one too far away to be counted exactly. */
export function microsOf(timestamp: string): number | null {
  const micros = Date.parse(`${timestamp.slice(0, 23)}Z`) * 1000 + Number(timestamp.slice(23, 26));
  return Number.isSafeInteger(micros) && timestampOf(micros) === timestamp ? micros : null;
}

export function timestampOf(micros: number): string {
  const rest = ((micros % 1000) + 1000) % 1000;
  const text = new Date((micros - rest) / 1000).toISOString();
  return `${text.slice(0, -1)}${String(rest).padStart(3, "0")}Z`;
}
