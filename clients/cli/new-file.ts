// A file that a command makes: new, private, and there only when it is whole.
import { open, rm, type FileHandle } from "node:fs/promises";
import { EXIT } from "./exit-codes.ts";
import { CliFault } from "./fault.ts";
import { visible } from "./render/escape.ts";

/** Removes the file again when the work on it fails. Throws CliFault 64 for a path that is there or cannot be. */
export async function writeNewFile<T>(
  path: string,
  work: (file: FileHandle) => Promise<T>,
): Promise<T> {
  const file = await open(path, "wx", 0o600).catch(() => {
    throw new CliFault(EXIT.usage, `${visible(path)} is there already or cannot be written.`);
  });
  try {
    const done = await work(file);
    await file.sync();
    return done;
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}
