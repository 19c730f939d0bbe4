// Small files that must be whole and there after a power cut: keys and secrets of this installation.
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

export interface DurableFile {
  readonly path: string;
  readonly content: string | Uint8Array;
  readonly mode: number;
}

/** Writes the file whole or not at all; replaces what stood there. */
export function writeDurably({ path, content, mode }: DurableFile): void {
  const draft = `${path}.part`;
  rmSync(draft, { force: true });
  const file = openSync(draft, "wx", mode);
  try {
    writeFileSync(file, content);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(draft, path);
  const folder = openSync(dirname(path), "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
