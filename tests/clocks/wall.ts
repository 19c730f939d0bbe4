// The wall clock of processes that were started with the shifted clock.
import { renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const SHIFTED = new URL("shifted-clock.ts", import.meta.url).href;

export const HOUR_MS = 3_600_000;
export const TEN_YEARS_MS = 10 * 365 * 24 * HOUR_MS;

export interface Wall {
  readonly env: Readonly<Record<string, string>>;
  /** Lets the wall differ from the machine's by this much. */
  readonly set: (ms: number) => void;
}

export function createWall(folder: string): Wall {
  const file = join(folder, "clock");
  const set = (ms: number): void => {
    writeFileSync(`${file}.new`, String(ms));
    renameSync(`${file}.new`, file);
  };
  set(0);
  return { env: { AIM_CLOCK_FILE: file }, set };
}
