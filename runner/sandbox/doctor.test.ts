// SPDX-License-Identifier: Apache-2.0
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runDoctor } from "./doctor.ts";
import { testConfig } from "./testing/fixture.ts";

test("this host's sandbox passes every conformance check, and there are more than a hundred", async () => {
  using config = testConfig();
  const results = await runDoctor(config);
  expect(results.filter(({ ok }) => !ok)).toEqual([]);
  expect(results.length).toBeGreaterThan(100);
  expect(new Set(results.map(({ id }) => id)).size).toBe(results.length);
}, 30_000);

test("a host whose bubblewrap does nothing fails the suite instead of ending it", async () => {
  using config = testConfig();
  const results = await runDoctor({ ...config, bwrap: "/bin/true" });
  expect(results.filter(({ ok }) => !ok).length).toBeGreaterThanOrEqual(3);
}, 30_000);

/** A bubblewrap that ignores one option, given with its values. */
function forgetful(directory: string, option: readonly string[]): string {
  const path = join(directory, "bwrap");
  const script = `#!/usr/bin/python3 -IS
import os, sys
if "--args" not in sys.argv:
    os.execv("/usr/bin/bwrap", sys.argv)
words = b""
while part := os.read(7, 65536):
    words += part
words = words.decode().split("\\0")[:-1]
leave = ${JSON.stringify(option)}
at = next(i for i in range(len(words)) if words[i:i + len(leave)] == leave)
del words[at:at + len(leave)]
reader, writer = os.pipe()
os.write(writer, ("\\0".join(words) + "\\0").encode())
os.close(writer)
os.dup2(reader, 7)
os.execv("/usr/bin/bwrap", sys.argv)
`;
  writeFileSync(path, script);
  chmodSync(path, 0o755);
  return path;
}

test.each([
  [
    "the system call filter",
    ["--seccomp", "8"],
    ["tiocsti", "ptrace_refused", "seccomp_filtering"],
  ],
  ["a network of its own", ["--unshare-net"], ["only_loopback"]],
  ["a read-only root", ["--remount-ro", "/"], ["no_write_root", "writable_mounts_exact"]],
  ["a size of the shared memory", ["--size", "8388608"], ["full_dev_shm"]],
  ["a host name of its own", ["--hostname", "aim"], ["host_name_hidden"]],
  ["IPC of its own", ["--unshare-ipc"], ["own_ipc_namespace"]],
  ["a cgroup view of its own", ["--unshare-cgroup"], ["own_cgroup_namespace"]],
])(
  "the suite notices a bubblewrap that leaves out %s",
  async (_, option, expected) => {
    using config = testConfig();
    const directory = mkdtempSync("/tmp/aim-bw-");
    chmodSync(directory, 0o755);
    try {
      const results = await runDoctor({ ...config, bwrap: forgetful(directory, option) });
      const failed = results.filter(({ ok }) => !ok).map(({ id }) => id);
      for (const id of expected) expect(failed).toContain(id);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  },
  30_000,
);
