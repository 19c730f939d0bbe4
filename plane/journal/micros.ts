// Times of events as whole microseconds since 1970.

/** Without the first century, whose years `Date.UTC` takes for those of the twentieth. */
const SHAPE = /^(?!00)\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{6}Z$/;

/**
 * Null for a text that is no moment of the calendar, or one too far away to be counted exactly. Asked of every event: to
 * write the moment down again and compare would cost more than all else that is done with it.
 */
export function microsOf(timestamp: string): number | null {
  if (!SHAPE.test(timestamp)) return null;
  const part = (from: number, to: number) => Number(timestamp.slice(from, to));
  const [month, day] = [part(5, 7), part(8, 10)];
  const date = Date.UTC(part(0, 4), month - 1, day, part(11, 13), part(14, 16), part(17, 19));
  const moment = new Date(date);
  // A day too many would be taken for one of the next month.
  if (moment.getUTCMonth() !== month - 1 || moment.getUTCDate() !== day) return null;
  const micros = date * 1000 + part(20, 26);
  return Number.isSafeInteger(micros) ? micros : null;
}

export function timestampOf(micros: number): string {
  const rest = ((micros % 1000) + 1000) % 1000;
  const text = new Date((micros - rest) / 1000).toISOString();
  return `${text.slice(0, -1)}${String(rest).padStart(3, "0")}Z`;
}
