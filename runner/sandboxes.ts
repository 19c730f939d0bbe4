// How this runner makes sandboxes: one place for limits, mounts and owner.
import type { JobSpec } from "@aim/contract";
import { openSandbox, type Sandbox, type SandboxConfig } from "./sandbox/sandbox.ts";
import type { RunnerToolchain } from "./toolchain.ts";

export interface SandboxSource {
  readonly config: SandboxConfig;
  readonly open: (
    id: string,
    requirements: JobSpec["runner_requirements"] | null,
  ) => Promise<Sandbox>;
}

const DEFAULT_LIMITS = {
  memoryBytes: 2 * 1024 ** 3,
  pids: 4096,
  fileBytes: 1024 ** 3,
  openFiles: 4096,
  tmpBytes: 512 * 1024 ** 2,
} as const;

export interface SandboxPlaces {
  readonly bwrap: string;
  readonly runtimeDir: string;
  readonly uid: number | null;
}

export function createSandboxSource(
  toolchain: RunnerToolchain,
  places: SandboxPlaces,
): SandboxSource {
  const config: SandboxConfig = {
    bwrap: places.bwrap,
    python: toolchain.python,
    runtimeDir: places.runtimeDir,
    readOnly: toolchain.mounts,
    uid: places.uid,
    limits: DEFAULT_LIMITS,
  };
  return {
    config,
    open: (id, requirements) =>
      openSandbox(
        requirements === null
          ? config
          : {
              ...config,
              limits: {
                ...DEFAULT_LIMITS,
                memoryBytes: requirements.memory_bytes,
                pids: requirements.pids,
                fileBytes: requirements.disk_bytes,
              },
            },
        id,
      ),
  };
}
