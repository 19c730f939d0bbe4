// SPDX-License-Identifier: Apache-2.0
import { describe, expect, test } from "vitest";
import { seccompProgram } from "./seccomp.ts";
import { ABSENT, FORBIDDEN, NUMBERS } from "./syscalls.ts";
import type { Machine } from "./syscalls.ts";

const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const EPERM = 0x00050001;
const ENOSYS = 0x00050026;
const EAFNOSUPPORT = 0x00050061;
const ARCH: Record<Machine, number> = { x64: 0xc000003e, arm64: 0xc00000b7 };

interface Call {
  readonly nr: number;
  readonly arch: number;
  readonly args?: readonly bigint[];
}

function dataOf({ nr, arch, args = [] }: Call): Buffer {
  const data = Buffer.alloc(64);
  data.writeUInt32LE(nr >>> 0, 0);
  data.writeUInt32LE(arch >>> 0, 4);
  for (const [index, value] of args.entries()) data.writeBigUInt64LE(value, 16 + 8 * index);
  return data;
}

/** As the kernel runs classic BPF, for the instructions we use; others are an error. */
function run(program: Buffer, call: Call): number {
  const data = dataOf(call);
  let accumulator = 0;
  for (let at = 0; at * 8 < program.length; at += 1) {
    const code = program.readUInt16LE(at * 8);
    const yes = program.readUInt8(at * 8 + 2);
    const no = program.readUInt8(at * 8 + 3);
    const k = program.readUInt32LE(at * 8 + 4);
    const jump = (taken: boolean): void => {
      at += taken ? yes : no;
    };
    if (code === 0x20) accumulator = data.readUInt32LE(k);
    else if (code === 0x54) accumulator = (accumulator & k) >>> 0;
    else if (code === 0x15) jump(accumulator === k);
    else if (code === 0x25) jump(accumulator > k);
    else if (code === 0x45) jump((accumulator & k) !== 0);
    else if (code === 0x06) return k;
    else throw new Error(`instruction ${code}`);
  }
  throw new Error("ran off the end");
}

describe.each(["x64", "arm64"] as const)("the filter for %s", (machine) => {
  const program = seccompProgram(machine);
  const number = NUMBERS[machine];
  const verdict = (nr: number, ...args: bigint[]): number =>
    run(program, { nr, arch: ARCH[machine], args });

  test("kills a process that calls in another machine's numbering", () => {
    for (const arch of [0x40000003, 0x40000028, 0, 0xffffffff]) {
      expect(run(program, { nr: number.ptrace, arch })).toBe(KILL);
    }
  });

  test("refuses every forbidden call and hides every absent one", () => {
    for (const name of FORBIDDEN) expect([name, verdict(number[name])]).toEqual([name, EPERM]);
    for (const name of ABSENT) expect([name, verdict(number[name])]).toEqual([name, ENOSYS]);
  });

  test("allows every call it does not name, up to the newest it knows", () => {
    const named = new Set<number>(Object.values(number));
    for (let nr = 0; nr <= 469; nr += 1) {
      if (!named.has(nr)) expect([nr, verdict(nr)]).toEqual([nr, ALLOW]);
    }
  });

  test("hides calls newer than it knows, x32 calls and nonsense", () => {
    for (const nr of [470, 1000, 0x40000000, 0x40000000 | number.ptrace, 0x7fffffff, 0xffffffff]) {
      expect(verdict(nr)).toBe(ENOSYS);
    }
  });

  test("refuses terminal injection whatever the upper half of the request says", () => {
    for (const request of [0x5412n, 0x541cn]) {
      for (const high of [0n, 1n << 32n, 0xffffffffn << 32n]) {
        expect(verdict(number.ioctl, 0n, request | high)).toBe(EPERM);
      }
    }
    expect(verdict(number.ioctl, 0x5412n, 0x5401n)).toBe(ALLOW);
  });

  test("lets a process fork and make threads but not make namespaces", () => {
    expect(verdict(number.clone, 17n)).toBe(ALLOW);
    expect(verdict(number.clone, 0x3d0f00n)).toBe(ALLOW);
    for (const bit of [17n, 25n, 26n, 27n, 28n, 29n, 30n]) {
      expect(verdict(number.clone, (1n << bit) | 17n)).toBe(EPERM);
      expect(verdict(number.clone, (1n << bit) | 17n | (1n << 40n))).toBe(EPERM);
    }
  });

  test("opens stream and datagram sockets of three families and route netlink only", () => {
    const socket = (family: bigint, type: bigint, protocol = 0n): number =>
      verdict(number.socket, family, type, protocol);
    const cloexec = 0o2000000n;
    for (const family of [2n, 10n]) {
      expect(socket(family, 1n | cloexec)).toBe(ALLOW);
      expect(socket(family, 2n | cloexec)).toBe(ALLOW);
      for (const type of [3n, 3n | cloexec, 4n, 5n, 6n, 10n])
        expect(socket(family, type)).toBe(EPERM);
    }
    expect(socket(1n, 5n)).toBe(ALLOW);
    expect(socket(16n, 3n | cloexec, 0n)).toBe(ALLOW);
    for (const protocol of [4n, 9n, 12n, 15n]) expect(socket(16n, 3n, protocol)).toBe(EPERM);
    for (const family of [0n, 3n, 17n, 29n, 31n, 38n, 40n, 44n])
      expect(socket(family, 1n)).toBe(EAFNOSUPPORT);
    expect(socket(17n | (1n << 32n), 3n)).toBe(EAFNOSUPPORT);
  });
});

test("both programs are far from the kernel's 4,096 instructions", () => {
  for (const machine of ["x64", "arm64"] as const) {
    expect(seccompProgram(machine).length / 8).toBeLessThan(256);
  }
});
