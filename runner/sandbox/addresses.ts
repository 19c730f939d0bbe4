// SPDX-License-Identifier: Apache-2.0
// Which addresses a sandbox may be connected to. Pure.
// Every spelling of an address is first brought to its bytes, and an IPv4
// address wrapped in an IPv6 one is unwrapped: that is where filters were beaten.
import { isIPv4, isIPv6 } from "node:net";

const V6_GROUPS = 8;

function groupsOf(text: string): number[] {
  if (text === "") return [];
  return text.split(":").map((group) => Number.parseInt(group, 16));
}

function bytesOfV6(text: string): number[] {
  // A dotted tail (::ffff:1.2.3.4) becomes two ordinary groups.
  const tail = /^(.*:)(\d+\.\d+\.\d+\.\d+)$/.exec(text);
  let plain = text;
  if (tail) {
    const [a = 0, b = 0, c = 0, d = 0] = (tail[2] ?? "").split(".").map(Number);
    plain = `${tail[1] ?? ""}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  }
  const [front = "", back] = plain.split("::");
  const left = groupsOf(front);
  const right = back === undefined ? [] : groupsOf(back);
  const middle = Array.from({ length: V6_GROUPS - left.length - right.length }, () => 0);
  return [...left, ...middle, ...right].flatMap((group) => [group >> 8, group & 0xff]);
}

const startsWith = (bytes: readonly number[], prefix: readonly number[]): boolean =>
  prefix.every((byte, index) => bytes[index] === byte);

const zeros = (count: number): number[] => Array.from({ length: count }, () => 0);

/** Prefix and offset of the IPv4 address that hides behind it. */
const WRAPPERS: readonly { prefix: readonly number[]; at: number; flip?: true }[] = [
  { prefix: [...zeros(10), 0xff, 0xff], at: 12 }, // ::ffff:a.b.c.d, mapped
  { prefix: [...zeros(8), 0xff, 0xff, 0, 0], at: 12 }, // ::ffff:0:a.b.c.d, translated
  { prefix: [0, 0x64, 0xff, 0x9b, ...zeros(8)], at: 12 }, // NAT64, well-known prefix
  { prefix: [0, 0x64, 0xff, 0x9b, 0, 1], at: 12 }, // NAT64, local prefix
  { prefix: [0x20, 0x02], at: 2 }, // 6to4
  { prefix: [0x20, 0x01, 0, 0], at: 12, flip: true }, // Teredo
];

/** Canonical bytes: 4 for anything that reaches an IPv4 host, else 16; null: no address. */
export function addressBytes(text: string): readonly number[] | null {
  if (isIPv4(text)) return text.split(".").map(Number);
  if (!isIPv6(text) || text.includes("%")) return null;
  const bytes = bytesOfV6(text);
  for (const { prefix, at, flip } of WRAPPERS) {
    if (!startsWith(bytes, prefix)) continue;
    const inner = bytes.slice(at, at + 4);
    return flip ? inner.map((byte) => byte ^ 0xff) : inner;
  }
  // ::a.b.c.d, the old "compatible" form; :: and ::1 are addresses of their own.
  if (startsWith(bytes, zeros(12)) && !startsWith(bytes, zeros(14))) return bytes.slice(12);
  return bytes;
}

/** One spelling per address, for comparing. */
export function canonicalAddress(text: string): string | null {
  return addressBytes(text)?.join(".") ?? null;
}

type Range = readonly [prefix: readonly number[], bits: number];

const REFUSED_V4: readonly Range[] = [
  [[0], 8], // this network, unspecified
  [[127], 8], // loopback
  [[169, 254], 16], // link-local, most clouds' metadata
  [[100, 64], 10], // carrier NAT, where another cloud keeps its metadata
  [[192, 0, 0], 24], // protocol assignments, one more metadata address
  [[168, 63, 129, 16], 32], // a cloud's host agent
  [[224], 3], // multicast, reserved, broadcast
];

const REFUSED_V6: readonly Range[] = [
  [zeros(16), 128], // unspecified
  [[...zeros(15), 1], 128], // loopback
  [[0xfe, 0x80], 10], // link-local
  [[0xfe, 0xc0], 10], // site-local, given up
  [[0xff], 8], // multicast
  [[0xfd, 0, 0x0e, 0xc2], 32], // fd00:ec2::/32, metadata
  [[0xfd, 0x20, 0, 0xce], 32], // fd20:ce::/32, metadata
];

function within(bytes: readonly number[], [prefix, bits]: Range): boolean {
  for (let bit = 0; bit < bits; bit += 8) {
    const left = Math.min(8, bits - bit);
    const mask = (0xff << (8 - left)) & 0xff;
    const index = bit / 8;
    if (((bytes[index] ?? 0) & mask) !== ((prefix[index] ?? 0) & mask)) return false;
  }
  return true;
}

/** Addresses no rule opens unless it names exactly this address. */
export function isRefusedAddress(text: string): boolean {
  const bytes = addressBytes(text);
  if (bytes === null) return true;
  return (bytes.length === 4 ? REFUSED_V4 : REFUSED_V6).some((range) => within(bytes, range));
}
