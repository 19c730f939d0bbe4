// One plane for the cases of a file; each case is a customer of its own, run by the product and by Ansible itself.
import type { TestPlane, Ran, RunOptions } from "../harness/plane.ts";
import { runRequest, startPlane } from "../harness/plane.ts";
import { writeCustomer } from "../harness/catalog.ts";
import { recapOf } from "../harness/story.ts";
import { afterAll, beforeAll, expect } from "vitest";
import { runNative, type NativeRun } from "./native.ts";

export const LOCAL = `ansible_connection=local ansible_python_interpreter="{{ ansible_playbook_python }}"`;

export interface Case extends RunOptions {
  readonly customer: string;
  readonly files: Readonly<Record<string, string>>;
  readonly hosts: readonly string[];
  /** `site.yml` when left out. */
  readonly playbook?: string;
  readonly inventory?: string;
  /** Further settings of the catalog's entry. */
  readonly settings?: Readonly<Record<string, unknown>>;
  readonly variables?: Record<string, unknown>;
  readonly nativeArguments?: readonly string[];
}

export interface Both extends Ran {
  readonly native: NativeRun;
}

export interface CasePlane {
  readonly plane: () => TestPlane;
  /** Writes the case's customer; answers its project folder. */
  readonly write: (of: Case) => string;
  readonly run: (of: Case) => Promise<Ran>;
  /** Runs it both ways and checks that every count is Ansible's own. */
  readonly runBoth: (of: Case) => Promise<Both>;
}

export function useCasePlane(): CasePlane {
  let started: TestPlane | undefined;
  const plane = (): TestPlane => {
    if (started === undefined) throw new Error("no plane");
    return started;
  };
  beforeAll(async () => {
    started = await startPlane();
  });
  afterAll(() => started?.[Symbol.asyncDispose]());

  const write = (of: Case): string => {
    const inventory = [of.inventory ?? "inventory.ini"];
    return writeCustomer(plane().catalogDir, {
      customer: of.customer,
      files: of.files,
      playbooks: { case: { playbook: of.playbook ?? "site.yml", inventory, ...of.settings } },
    });
  };
  const run = (of: Case): Promise<Ran> => {
    const { customer, hosts, variables = {}, ...options } = of;
    return runRequest(
      plane().client,
      { customer, playbook: "case", hosts: [...hosts], variables },
      options,
    );
  };
  const runBoth = async (of: Case): Promise<Both> => {
    const project = write(of);
    const native = await runNative({
      project,
      playbook: of.playbook ?? "site.yml",
      inventory: of.inventory ?? "inventory.ini",
      hosts: of.hosts,
      arguments: of.nativeArguments ?? [],
    });
    const ran = await run(of);
    expect(native.recap).not.toBeNull();
    expect(recapOf(ran.events)).toEqual(native.recap);
    return { ...ran, native };
  };
  return { plane, write, run, runBoth };
}
