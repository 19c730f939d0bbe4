// Ctrl-C and SIGTERM: the first asks to detach, a second ends the command at once. Neither touches the run.
import { EXIT } from "../exit-codes.ts";

export interface Interrupt {
  dispose(): void;
}

/** Calls `detach` once for the first SIGINT or SIGTERM, or when nobody reads stdout any more. */
export function onInterrupt(detach: () => void): Interrupt {
  let asked = false;
  const handle = () => {
    if (asked) process.exit(EXIT.detached);
    asked = true;
    detach();
  };
  const onOutputError = (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    if (!asked) handle();
  };
  process.on("SIGINT", handle);
  process.on("SIGTERM", handle);
  process.stdout.on("error", onOutputError);
  return {
    dispose: () => {
      process.off("SIGINT", handle);
      process.off("SIGTERM", handle);
      process.stdout.off("error", onOutputError);
    },
  };
}
