// Runs the benchmarks, or those that are named as arguments, and writes what they measured.
import { answerTable, answerTimes } from "./answer-times.ts";
import { callbackCost, callbackTable } from "./callback-cost.ts";
import { claimRate, claimTable } from "./claim-rate.ts";
import { environmentOf } from "./environment.ts";
import { frameCost, frameTable } from "./frame-cost.ts";
import { idleMemory, memoryTable } from "./idle-memory.ts";
import { journalCost, journalTable } from "./journal.ts";
import { latencyTable, leaseLatency } from "./lease-latency.ts";
import { makePlace, type Place } from "./place.ts";
import { recoveryTable, recoveryTime } from "./recovery-time.ts";
import { writeReport } from "./report.ts";
import { bytesTable, runBytes } from "./run-bytes.ts";
import { startCost, startTable } from "./start-cost.ts";

interface Taken {
  readonly data: unknown;
  readonly table: string;
}

const BENCHES: Readonly<Record<string, (place: Place) => Promise<Taken>>> = {
  frames: async (place) => {
    const data = await frameCost(place);
    return { data, table: frameTable(data) };
  },
  start: async (place) => {
    const data = await startCost(place);
    return { data, table: startTable(data) };
  },
  callback: async (place) => {
    const data = await callbackCost(place);
    return { data, table: callbackTable(data) };
  },
  claims: async () => {
    const data = await claimRate();
    return { data, table: claimTable(data) };
  },
  latency: async () => {
    const data = await leaseLatency();
    return { data, table: latencyTable(data) };
  },
  recovery: async () => {
    const data = await recoveryTime();
    return { data, table: recoveryTable(data) };
  },
  journal: async () => {
    const data = await journalCost();
    return { data, table: journalTable(data) };
  },
  bytes: async (place) => {
    const data = await runBytes(place);
    return { data, table: bytesTable(data) };
  },
  answers: async () => {
    const data = await answerTimes();
    return { data, table: answerTable(data) };
  },
  memory: async () => {
    const data = await idleMemory();
    return { data, table: memoryTable(data) };
  },
};

async function main(asked: readonly string[]): Promise<void> {
  const unknown = asked.filter((name) => !Object.hasOwn(BENCHES, name));
  if (unknown.length > 0) {
    console.error(`bench: no such benchmark: ${unknown.join(", ")}. There are:`);
    console.error(Object.keys(BENCHES).join(", "));
    process.exitCode = 64;
    return;
  }
  const place = makePlace();
  try {
    for (const [name, take] of Object.entries(BENCHES)) {
      if (asked.length > 0 && !asked.includes(name)) continue;
      const environment = environmentOf(place);
      const start = performance.now();
      writeReport({ name, environment, ...(await take(place)) });
      console.error(`bench: ${name} took ${((performance.now() - start) / 1000).toFixed(0)} s`);
    }
  } finally {
    place.remove();
  }
}

await main(process.argv.slice(2));
