import { expect, test } from "vitest";
import { checkedAddresses, isAllowedAddress, resolveHere } from "./address.ts";

const never = { resolve: resolveHere, allowLoopback: false };

test.for([
  // Loopback and metadata, as people write them who want to get past a filter.
  "https://127.0.0.1/",
  "https://127.1/",
  "https://0x7f000001/",
  "https://2130706433/",
  "https://017700000001/",
  "https://[::1]/",
  "https://[0:0:0:0:0:0:0:1]/",
  "https://[::ffff:127.0.0.1]/",
  "https://[::ffff:7f00:1]/",
  "https://[::127.0.0.1]/",
  "https://localhost/",
  "https://[64:ff9b::7f00:1]/",
  "https://[2002:7f00:1::]/",
  "https://[::ffff:0:7f00:1]/",
  "https://169.254.169.254/",
  "https://0xa9.0xfe.0xa9.0xfe/",
  "https://2852039166/",
  "https://[::ffff:a9fe:a9fe]/",
  "https://[64:ff9b::a9fe:a9fe]/",
  "https://[64:ff9b:1::a9fe:a9fe]/",
  "https://[2002:a9fe:a9fe::1]/",
  "https://[fd00:ec2::254]/",
  "https://[fe80::1]/",
  "https://0.0.0.0/",
  "https://0/",
  "https://[::]/",
  "https://224.0.0.1/",
  "https://[ff02::1]/",
  "https://255.255.255.255/",
  "https://100.100.100.200/",
  "https://168.63.129.16/",
  "https://[2001:0:a9fe:a9fe::1]/",
])("a callback does not go to %s", async (text) => {
  const { hostname } = new URL(text);
  expect(await checkedAddresses(hostname, never)).toEqual({ ok: false, error: "address_refused" });
});

test.for([
  "93.184.216.34",
  "10.1.2.3",
  "192.168.0.1",
  "126.255.255.255",
  "128.0.0.0",
  "169.253.255.255",
  "169.255.0.0",
  "223.255.255.255",
  "2606:4700::1111",
  "fd12:3456::1",
  "64:ff9b::5db8:d822",
  "::ffff:93.184.216.34",
])("a callback may go to %s", (address) => {
  expect(isAllowedAddress(address, false)).toBe(true);
});

test("a zone or no address at all is refused", () => {
  for (const address of ["fe80::1%lo", "::1%lo", "2606:4700::1%eth0", "", "example.com"]) {
    expect(isAllowedAddress(address, true)).toBe(false);
  }
});

test("loopback opens with the administrator's word, and nothing else does", () => {
  for (const address of ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"]) {
    expect(isAllowedAddress(address, true)).toBe(true);
  }
  for (const address of ["169.254.169.254", "0.0.0.0", "64:ff9b::7f00:1", "fe80::1"]) {
    expect(isAllowedAddress(address, true)).toBe(false);
  }
});

test("one bad answer among good ones refuses the name; none at all is another thing", async () => {
  const answering = (...addresses: string[]) => ({
    allowLoopback: false,
    resolve: async () => addresses.map((address) => ({ address, family: 4 })),
  });
  expect(await checkedAddresses("x", answering("93.184.216.34", "127.0.0.1"))).toEqual({
    ok: false,
    error: "address_refused",
  });
  expect(await checkedAddresses("x", answering())).toEqual({ ok: false, error: "unresolved" });
  const failing = { allowLoopback: false, resolve: () => Promise.reject(new Error("ENOTFOUND")) };
  expect(await checkedAddresses("x", failing)).toEqual({ ok: false, error: "unresolved" });
});
