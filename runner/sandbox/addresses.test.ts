// SPDX-License-Identifier: Apache-2.0
import { expect, test } from "vitest";
import { canonicalAddress, isRefusedAddress } from "./addresses.ts";

test.each([
  ["127.0.0.1", "loopback"],
  ["127.255.0.9", "loopback"],
  ["0.0.0.0", "unspecified"],
  ["0.1.2.3", "this network"],
  ["169.254.169.254", "metadata"],
  ["100.100.100.200", "metadata behind carrier NAT"],
  ["192.0.0.192", "metadata"],
  ["168.63.129.16", "a cloud's host agent"],
  ["224.0.0.1", "multicast"],
  ["240.0.0.1", "reserved"],
  ["255.255.255.255", "broadcast"],
  ["::", "unspecified"],
  ["::1", "loopback"],
  ["0:0:0:0:0:0:0:1", "loopback, long"],
  ["fe80::1", "link-local"],
  ["febf::1", "link-local, last"],
  ["ff02::1", "multicast"],
  ["fd00:ec2::254", "metadata"],
  ["fd20:ce::254", "metadata"],
  ["::ffff:127.0.0.1", "mapped"],
  ["::ffff:a9fe:a9fe", "mapped, hexadecimal"],
  ["::FFFF:A9FE:A9FE", "mapped, upper case"],
  ["0:0:0:0:0:ffff:169.254.169.254", "mapped, long"],
  ["::127.0.0.1", "compatible"],
  ["::ffff:0:127.0.0.1", "translated"],
  ["64:ff9b::a9fe:a9fe", "NAT64"],
  ["64:ff9b:1::169.254.169.254", "NAT64, local prefix"],
  ["2002:7f00:1::", "6to4"],
  ["2002:a9fe:a9fe::1", "6to4"],
  ["2001:0:0:0:0:0:8000:fffe", "Teredo"],
  ["fe80::1%lo", "zoned"],
  ["127.1", "no address"],
  ["2130706433", "no address"],
  ["", "no address"],
])("%s is refused (%s)", (address) => {
  expect(isRefusedAddress(address)).toBe(true);
});

test.each([
  "10.0.0.1",
  "192.168.1.1",
  "172.16.0.1",
  "8.8.8.8",
  "100.63.0.1",
  "100.128.0.1",
  "169.253.0.1",
  "223.255.255.254",
  "2606:4700::1",
  "fd00::1",
  "::ffff:10.0.0.1",
  "64:ff9b::8.8.8.8",
])("%s may be reached where a rule says so", (address) => {
  expect(isRefusedAddress(address)).toBe(false);
});

test("one host has one canonical address however it is written", () => {
  const spellings = ["10.1.2.3", "::ffff:10.1.2.3", "::ffff:a01:203", "0:0:0:0:0:FFFF:0A01:0203"];
  expect(new Set(spellings.map(canonicalAddress))).toEqual(new Set(["10.1.2.3"]));
  expect(canonicalAddress("2001:db8::1")).toBe(canonicalAddress("2001:0db8:0:0:0:0:0:0001"));
});
