// Small files that must be whole and there after a power cut: keys and secrets of this installation.
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";

export interface DurableFile {
  readonly path: string;
  readonly content: string | Uint8Array;
  readonly mode: number;
}

/** Writes the file whole or not at all; replaces what stood there. */
export function writeDurably(file: DurableFile): void {
  publish(file, (draft) => renameSync(draft, file.path));
}

/** Writes the file whole or not at all, unless there is one: of several processes that try, one succeeds. */
export function createDurably(file: DurableFile): void {
  if (existsSync(file.path)) return;
  publish(file, (draft) => {
    try {
      linkSync(draft, file.path);
    } catch (error) {
      if (!existsSync(file.path)) throw error;
    }
    rmSync(draft);
  });
}

function publish({ path, content, mode }: DurableFile, place: (draft: string) => void): void {
  const draft = `${path}.${process.pid}.part`;
  rmSync(draft, { force: true });
  const file = openSync(draft, "wx", mode);
  try {
    writeFileSync(file, content);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  place(draft);
  const folder = openSync(dirname(path), "r");
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
}
