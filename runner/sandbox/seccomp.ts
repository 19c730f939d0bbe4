// SPDX-License-Identifier: Apache-2.0
// The sandbox's system call filter: a classic-BPF program for bubblewrap's
// --seccomp. bubblewrap sets none by itself. Pure: no process, no file.
import { ABSENT, FORBIDDEN, NEWEST_KNOWN, NUMBERS } from "./syscalls.ts";
import type { Machine } from "./syscalls.ts";

// struct seccomp_data: nr, arch, instruction pointer, six 64-bit arguments.
const NR = 0;
const ARCH = 4;
const argument = (index: number): number => 16 + 8 * index; // low half: both machines are little-endian

const LOAD = 0x20; // BPF_LD | BPF_W | BPF_ABS
const AND = 0x54; // BPF_ALU | BPF_AND | BPF_K
const JUMP_EQUAL = 0x15;
const JUMP_GREATER = 0x25;
const JUMP_SET = 0x45;
const RETURN = 0x06;

const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;
const errno = (value: number): number => 0x00050000 | value;
const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;

const AUDIT_ARCH: Readonly<Record<Machine, number>> = { x64: 0xc000003e, arm64: 0xc00000b7 };

const TIOCSTI = 0x5412;
const TIOCLINUX = 0x541c;
// NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET
const CLONE_NEW = 0x7e020000;
const AF_UNIX = 1;
const AF_INET = 2;
const AF_INET6 = 10;
const AF_NETLINK = 16;
const SOCK_TYPE = 0xf;
const SOCK_STREAM = 1;
const SOCK_DGRAM = 2;

type Line =
  | { readonly label: string }
  | { readonly code: number; readonly k: number; readonly to?: string };

const load = (offset: number): Line => ({ code: LOAD, k: offset });
const mask = (bits: number): Line => ({ code: AND, k: bits });
const give = (action: number): Line => ({ code: RETURN, k: action });
const label = (name: string): Line => ({ label: name });
/** Jumps when the loaded word equals `k`, else goes on. */
const when = (k: number, to: string): Line => ({ code: JUMP_EQUAL, k, to });
const whenAbove = (k: number, to: string): Line => ({ code: JUMP_GREATER, k, to });
const whenAny = (bits: number, to: string): Line => ({ code: JUMP_SET, k: bits, to });

/** Turns labels into forward distances; a jump reaches 255 instructions. */
function assemble(lines: readonly Line[]): Buffer {
  const places = new Map<string, number>();
  let count = 0;
  for (const line of lines) {
    if ("label" in line) places.set(line.label, count);
    else count += 1;
  }
  const code = Buffer.alloc(count * 8);
  let at = 0;
  for (const line of lines) {
    if ("label" in line) continue;
    let distance = 0;
    if (line.to !== undefined) {
      distance = (places.get(line.to) ?? -1) - at - 1;
      if (distance < 0 || distance > 255) throw new Error(`seccomp: cannot jump to ${line.to}`);
    }
    code.writeUInt16LE(line.code, at * 8);
    code.writeUInt8(distance, at * 8 + 2);
    code.writeUInt32LE(line.k >>> 0, at * 8 + 4);
    at += 1;
  }
  return code;
}

function program(machine: Machine): Line[] {
  const number = NUMBERS[machine];
  return [
    load(ARCH),
    when(AUDIT_ARCH[machine], "native"),
    give(KILL_PROCESS), // 32-bit calls have other numbers: never guess
    label("native"),
    load(NR),
    // Also catches x32, whose numbers carry bit 30.
    whenAbove(NEWEST_KNOWN, "absent"),
    when(number.ioctl, "ioctl"),
    when(number.socket, "socket"),
    when(number.clone, "clone"),
    ...FORBIDDEN.map((name) => when(number[name], "forbidden")),
    ...ABSENT.map((name) => when(number[name], "absent")),
    give(ALLOW),

    // The kernel looks at 32 bits of the request only; so must we, or
    // TIOCSTI | 1 << 32 passes. Loading the low half is the mask.
    label("ioctl"),
    load(argument(1)),
    when(TIOCSTI, "forbidden"),
    when(TIOCLINUX, "forbidden"),
    give(ALLOW),

    label("clone"),
    load(argument(0)),
    whenAny(CLONE_NEW, "forbidden"),
    give(ALLOW),

    label("socket"),
    load(argument(0)),
    when(AF_UNIX, "allowed"),
    when(AF_INET, "internet"),
    when(AF_INET6, "internet"),
    when(AF_NETLINK, "netlink"),
    give(errno(EAFNOSUPPORT)),

    label("internet"), // streams and datagrams, nothing raw
    load(argument(1)),
    mask(SOCK_TYPE),
    when(SOCK_STREAM, "allowed"),
    when(SOCK_DGRAM, "allowed"),
    give(errno(EPERM)),

    label("netlink"), // NETLINK_ROUTE (0): getaddrinfo asks it for addresses
    load(argument(2)),
    when(0, "allowed"),
    give(errno(EPERM)),

    label("allowed"),
    give(ALLOW),
    label("forbidden"),
    give(errno(EPERM)),
    label("absent"),
    give(errno(ENOSYS)),
  ];
}

/** The machine this process runs on. A machine without a filter gets no sandbox. */
export function thisMachine(): Machine {
  const { arch } = process;
  if (arch === "x64" || arch === "arm64") return arch;
  throw new Error(`no system call filter for ${arch}`);
}

/** `struct sock_filter[]`, 8 bytes each, as the kernel takes it. */
export function seccompProgram(machine: Machine): Buffer {
  return assemble(program(machine));
}
