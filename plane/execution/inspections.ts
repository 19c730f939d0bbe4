// Questions about reviewed content that a runner answers. In memory only: a lost one is simply asked again.
import { AimError, type BundleFile, type InspectionGrant } from "@aim/contract";

export interface Question {
  readonly jobType: string;
  readonly inputs: Record<string, unknown>;
  readonly files: readonly BundleFile[];
}

interface Open {
  readonly grant: InspectionGrant;
  readonly settle: (answer: unknown) => void;
  /** The runner that was asked; null while nobody was. */
  takenBy: string | null;
}

export interface Answered {
  readonly inspectionId: string;
  readonly runner: string;
  readonly answer: unknown;
}

const TIMEOUT_MS = 60_000;

export interface Inspections {
  /** Resolves with the driver's answer; rejects with `runner_unavailable` when none comes in time. */
  readonly ask: (question: Question) => Promise<unknown>;
  readonly take: (runner: string, jobTypes: readonly string[]) => InspectionGrant | null;
  /** Answers false when nobody waits for this answer of this runner any more. */
  readonly settle: (answered: Answered) => boolean;
}

export function createInspections(newId: () => string, wake: () => void): Inspections {
  const open = new Map<string, Open>();

  function ask(question: Question): Promise<unknown> {
    const inspection_id = newId();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        open.delete(inspection_id);
        reject(new AimError("runner_unavailable"));
      }, TIMEOUT_MS);
      open.set(inspection_id, {
        takenBy: null,
        settle: (answer) => {
          clearTimeout(timer);
          open.delete(inspection_id);
          resolve(answer);
        },
        grant: {
          kind: "inspection",
          inspection_id,
          job_type: question.jobType,
          inputs: question.inputs,
          files: [...question.files],
          timeout_ms: TIMEOUT_MS,
        },
      });
      wake();
    });
  }

  function take(runner: string, jobTypes: readonly string[]): InspectionGrant | null {
    for (const inspection of open.values()) {
      const taken = inspection.takenBy !== null;
      if (taken || !jobTypes.includes(inspection.grant.job_type)) continue;
      inspection.takenBy = runner;
      return inspection.grant;
    }
    return null;
  }

  function settle({ inspectionId, runner, answer }: Answered): boolean {
    const inspection = open.get(inspectionId);
    if (inspection?.takenBy !== runner) return false;
    inspection.settle(answer);
    return true;
  }

  return { ask, take, settle };
}
