// The service log: JSON lines with stable codes, never a secret, never raw output.
import { pino, type Logger } from "pino";

export function createLog(level: string): Logger {
  return pino(
    {
      level,
      base: { service: "aimd" },
      timestamp: pino.stdTimeFunctions.isoTime,
      // Bodies and headers are never logged; an error is logged by its own facts.
      serializers: { req: () => undefined, res: () => undefined },
    },
    pino.destination(2),
  );
}
