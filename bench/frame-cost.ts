// How fast frames are checked and projected, against JSON.parse alone on the same lines.
import { Buffer } from "node:buffer";
import { ANSIBLE_CORE_VERSION } from "@aim/contract";
import { createFrameReader } from "../drivers/ansible/frames.ts";
import { createHostRule, createCredentialSearch } from "../drivers/ansible/names.ts";
import { createProjection } from "../drivers/ansible/projection.ts";
import { measure } from "./measure.ts";
import type { Place } from "./place.ts";
import { spread, told, type Spread } from "./statistics.ts";
import { launcher, writeWork } from "./variants.ts";

const HOSTS = 20;
const TASKS = 20;
const ROUNDS = 9;
const PASSES = 100;
/** As a read from a socket pair gives them. */
const CHUNK_BYTES = 65_536;

interface FrameCost {
  readonly frames: number;
  readonly bytes_per_frame: number;
  readonly bytes_per_result: number;
  /** Frames each second of CPU time of one core. */
  readonly parse_only: Spread;
  readonly checked_and_projected: Spread;
  readonly ratio: Spread;
}

/** The frames of one real run. */
async function record(place: Place): Promise<Buffer> {
  const parts: Uint8Array[] = [];
  const folder = writeWork(place, { name: "recorded", hosts: HOSTS, tasks: TASKS });
  const command = launcher(place, folder, { onBytes: (bytes) => void parts.push(bytes) });
  await measure(place.python, command);
  command.check();
  return Buffer.concat(parts);
}

function parseOnly(recorded: Buffer): number {
  let count = 0;
  for (const line of recorded.toString("utf8").split("\n")) {
    if (line === "") continue;
    const value = JSON.parse(line) as { readonly n: number };
    count += Number(value.n > 0);
  }
  return count;
}

function checkAndProject(recorded: Buffer, digest: string): number {
  const hosts = Array.from({ length: HOSTS }, (_, index) => `host${index + 1}`);
  const holdsCredential = createCredentialSearch(["a credential of this run", "another one"]);
  let events = 0;
  const projection = createProjection({
    mode: "detail",
    nonce: "bench",
    ansible: ANSIBLE_CORE_VERSION,
    callback: digest,
    publicHost: createHostRule(hosts, holdsCredential),
    holdsCredential,
    knowsChange: () => false,
    emit: () => {
      events += 1;
    },
  });
  const reader = createFrameReader((frame) => projection.accept(frame));
  for (let at = 0; at < recorded.length; at += CHUNK_BYTES) {
    reader.push(recorded.subarray(at, at + CHUNK_BYTES));
  }
  if (reader.fault !== null || events === 0) throw new Error("the recorded frames are damaged");
  return reader.frames;
}

function perCpuSecond(pass: () => number): number {
  const before = process.cpuUsage();
  let frames = 0;
  for (let count = 0; count < PASSES; count += 1) frames += pass();
  const used = process.cpuUsage(before);
  return frames / ((used.user + used.system) / 1e6);
}

export async function frameCost(place: Place): Promise<FrameCost> {
  const recorded = await record(place);
  const own = (): number => checkAndProject(recorded, place.callbackDigest);
  const plain = (): number => parseOnly(recorded);
  for (const pass of [plain, own]) perCpuSecond(pass);
  const parsed: number[] = [];
  const projected: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    parsed.push(perCpuSecond(plain));
    projected.push(perCpuSecond(own));
  }
  const lines = recorded.toString("utf8").split("\n");
  const results = lines.filter((line) => line.includes('"k":"result"'));
  return {
    frames: lines.length - 1,
    bytes_per_frame: recorded.length / (lines.length - 1),
    bytes_per_result: Buffer.byteLength(results.join("")) / results.length + 1,
    parse_only: spread(parsed),
    checked_and_projected: spread(projected),
    ratio: spread(parsed.map((value, round) => value / (projected[round] ?? Number.NaN))),
  };
}

export function frameTable(cost: FrameCost): string {
  const thousands = ({ median, min, max, n }: Spread): string =>
    told({ median: median / 1000, min: min / 1000, max: max / 1000, n }, 0);
  return [
    "| what is done with each frame | thousand frames a CPU second | n |",
    "|---|---|---|",
    `| UTF-8 decoding and \`JSON.parse\` only | ${thousands(cost.parse_only)} | ${cost.parse_only.n} |`,
    `| strict reader (canonical form, schema, order) and projection with labels, hosts and books | ${thousands(cost.checked_and_projected)} | ${cost.checked_and_projected.n} |`,
    "",
    `\`JSON.parse\` alone is ${told(cost.ratio, 1)} times as fast. Recorded: ${cost.frames} frames of` +
      ` ${HOSTS} hosts × ${TASKS} tasks; ${cost.bytes_per_frame.toFixed(0)} bytes a frame,` +
      ` ${cost.bytes_per_result.toFixed(0)} bytes a host result.`,
  ].join("\n");
}
