// Which host had which result in which task, of the rows that are retained. The last result of a cell stands. Pure.
import type { JournalMatrix } from "@aim/contract";
import { idOfNumber, JOURNAL_KINDS, KIND_MASK, statusOf, wasIgnored, type NameOf } from "./row.ts";

/** Of the rows that matter here: starts of tasks and results of hosts. */
export interface MatrixRow {
  readonly sequence: number;
  readonly kind: number;
  readonly task: number | null;
  readonly name: number | null;
}

export const MATRIX_KINDS = [
  JOURNAL_KINDS.indexOf("task_started"),
  JOURNAL_KINDS.indexOf("host_result"),
] as const;

export interface MatrixFold {
  /** Number of each task's label. */
  readonly labels: Map<number, number>;
  readonly tasks: Map<number, number>;
  readonly hosts: Map<number, number>;
  /** Kind of the row, by host and task. */
  readonly cells: Map<string, readonly [host: number, task: number, kind: number]>;
}

export function emptyMatrix(): MatrixFold {
  return { labels: new Map(), tasks: new Map(), hosts: new Map(), cells: new Map() };
}

export function addToMatrix(fold: MatrixFold, rows: readonly MatrixRow[]): void {
  for (const { kind, name, task } of rows) {
    if (task === null) continue;
    const at = placeIn(fold.tasks, task);
    if ((kind & KIND_MASK) !== MATRIX_KINDS[1]) {
      if (name !== null) fold.labels.set(task, name);
    } else if (name !== null) {
      const host = placeIn(fold.hosts, name);
      fold.cells.set(`${host} ${at}`, [host, at, kind]);
    }
  }
}

function placeIn(places: Map<number, number>, key: number): number {
  const known = places.get(key);
  if (known !== undefined) return known;
  places.set(key, places.size);
  return places.size - 1;
}

/** Names that the matrix will tell. */
export function namesOfMatrix(fold: MatrixFold): number[] {
  const named = [...fold.tasks.keys()].filter((ref) => ref < 0).map((ref) => -ref);
  return [...fold.hosts.keys(), ...fold.labels.values(), ...named];
}

export function matrixOf(fold: MatrixFold, cursor: number, nameOf: NameOf): JournalMatrix {
  const text = (id: number): string => JSON.parse(nameOf(id)) as string;
  return {
    cursor,
    hosts: [...fold.hosts.keys()].map(text),
    tasks: [...fold.tasks.keys()].map((ref) => {
      const label = fold.labels.get(ref);
      const task_id = ref < 0 ? text(-ref) : idOfNumber(ref);
      return { task_id, label: label === undefined ? null : text(label) };
    }),
    cells: [...fold.cells.values()].map(([host, task, kind]) => ({
      host,
      task,
      status: statusOf(kind),
      ignored: wasIgnored(kind),
    })),
  };
}
