import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { writeNewFile } from "./new-file.ts";

const folder = mkdtempSync(join(tmpdir(), "aim-new-file-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("a new file is private and answers what was done", async () => {
  const path = join(folder, "fresh");
  const done = await writeNewFile(path, async (file) => {
    await file.write("text");
    return 4;
  });
  expect(done).toBe(4);
  expect(readFileSync(path, "utf8")).toBe("text");
  expect(statSync(path).mode & 0o777).toBe(0o600);
});

test("what is there already stays as it is", async () => {
  const path = join(folder, "there");
  writeFileSync(path, "kept");
  const tried = writeNewFile(path, (file) => file.writeFile("other"));
  await expect(tried).rejects.toMatchObject({ exitCode: 64 });
  expect(readFileSync(path, "utf8")).toBe("kept");
});

test("a file that was cut off is not left behind, so that it can be made again", async () => {
  const path = join(folder, "cut");
  const cut = writeNewFile(path, async (file) => {
    await file.write("half");
    throw new Error("cut");
  });
  await expect(cut).rejects.toThrow("cut");
  expect(existsSync(path)).toBe(false);
});
