import { writeSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { compare, readRecord, type Comparison, type Recorded } from "./compare.ts";
import { layOut, type Corpus } from "./corpus.ts";
import { runTarget, type TargetRun } from "./run-target.ts";
import { LIMIT_SECONDS, TARGETS } from "./targets.ts";

// Another test file runs beside this one: two targets at once would starve its real hosts.
const AT_ONCE = 1;
const ALL_MS = 15 * 60_000;

interface Told {
  readonly run: TargetRun;
  readonly comparisons: readonly Comparison[];
}

let corpus: Corpus;
const told: Told[] = [];

beforeAll(async () => {
  corpus = await layOut();
}, 240_000);

afterAll(() => {
  if (process.env["AIM_KEEP"] === undefined) corpus.remove();
});

async function runAll(): Promise<void> {
  const waiting = [...TARGETS];
  const work = async (): Promise<void> => {
    for (let target = waiting.shift(); target !== undefined; target = waiting.shift()) {
      const run = await runTarget(corpus, target, LIMIT_SECONDS);
      const comparisons = run.records.map((folder) => compare(readRecord(folder), corpus.digest));
      told.push({ run, comparisons });
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

function table(): string {
  const head = "target                          exit   s  runs compared rows results differ\n";
  const lines = told
    .toSorted((one, other) => one.run.target.localeCompare(other.run.target))
    .map(({ run, comparisons }) => {
      const compared = comparisons.filter(({ kind }) => kind === "compared");
      const sum = (key: "rows" | "results") =>
        comparisons.reduce((total, comparison) => total + comparison[key], 0);
      const cells = [
        (run.status === null ? "late" : String(run.status)).padStart(5),
        run.seconds.toFixed(0).padStart(4),
        String(comparisons.length).padStart(5),
        String(compared.length).padStart(8),
        String(sum("rows")).padStart(5),
        String(sum("results")).padStart(7),
        String(comparisons.flatMap(({ differences }) => differences).length).padStart(6),
      ];
      return `${run.target.padEnd(31)}${cells.join("")}\n`;
    });
  return head + lines.join("");
}

test(
  "every count and every verdict equals what Ansible itself printed and ended with",
  async () => {
    await runAll();
    const all = told.flatMap(({ comparisons }) => comparisons);
    const compared = all.filter(({ kind }) => kind === "compared");
    const noStats = all.filter(({ kind }) => kind === "no_stats");
    const rows = compared.reduce((total, { rows }) => total + rows, 0);
    const ended = told.filter(({ run }) => run.status !== null).length;
    const passed = told.filter(({ run }) => run.status === 0).length;
    const summary = [
      `${told.length} targets, ${ended} ended by themselves, ${passed} with status 0`,
      `${all.length} runs: ${compared.length} with a recap, ${noStats.length} without final counts,` +
        ` ${all.length - compared.length - noStats.length} printed by another callback`,
      `${rows} recap rows; exit status and recap disagree in ${all.filter(({ disagree }) => disagree).length} runs`,
    ];
    writeSync(1, `${table()}${summary.join("\n")}\n`);
    const differences = told.flatMap(({ run, comparisons }) =>
      comparisons.flatMap((comparison) =>
        comparison.differences.map((difference) => `${run.target}: ${difference}`),
      ),
    );
    expect(differences).toEqual([]);
    expect(noStats.filter(({ succeeded }) => succeeded)).toEqual([]);
    expect(ended).toBeGreaterThanOrEqual(30);
    expect(compared.length).toBeGreaterThanOrEqual(60);
    expect(rows).toBeGreaterThanOrEqual(100);
    expect(all.some(({ disagree }) => disagree)).toBe(true);
  },
  ALL_MS,
);

/** A recorded run in which Ansible skipped something and all went well. */
function runWithSkip(): Recorded {
  const folders = told.flatMap(({ run }) => run.records);
  const found = folders
    .map(readRecord)
    .find(
      ({ frames, stdout, exitCode }) =>
        exitCode === 0 && / skipped=[1-9]/.test(stdout) && frames.includes('"status":"skipped"'),
    );
  if (found === undefined) throw new Error("no run with a skipped task");
  return found;
}

test("a wrong count, a missing end and a wrong exit status are each found", () => {
  const recorded = runWithSkip();
  const found = (change: Partial<Recorded>): readonly string[] =>
    compare({ ...recorded, ...change }, corpus.digest).differences;
  const { stdout } = recorded;
  const frames = recorded.frames.toString("utf8");
  expect(found({})).toEqual([]);
  // What a projection that forgets skips would make of it: the skipped result counts nowhere.
  const forgotten = frames.replace(/("status":"skipped".*?"counted":)"yes"/, '$1"meta"');
  expect(found({ frames: Buffer.from(forgotten) }).join()).toContain("derived counts");
  const more = stdout.replace(/ skipped=\d+/g, (count) => `${count}1`);
  expect(found({ stdout: more }).join()).toContain("host_recap");
  const cut = frames.slice(0, frames.lastIndexOf('{"n"'));
  expect(found({ frames: Buffer.from(cut) }).join()).toContain("event_bridge_incomplete");
  expect(compare({ ...recorded, exitCode: 2 }, corpus.digest).succeeded).toBe(false);
  expect(compare({ ...recorded, exitCode: null }, corpus.digest).succeeded).toBe(false);
});
