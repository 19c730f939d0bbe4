// Where a callback may connect to. Decided on the addresses that a name leads to, which are then the ones connected to.
import { lookup } from "node:dns/promises";
import { BlockList, isIP } from "node:net";

const LOOPBACK = listOf(["127.0.0.0/8", "::1/128"]);

/** Beside loopback: nothing out there is meant for us, or it gives secrets to whoever asks. */
const REFUSED_V4 = [
  "0.0.0.0/8", // this network, unspecified
  "169.254.0.0/16", // link-local, most clouds' metadata
  "100.64.0.0/10", // carrier NAT, where another cloud keeps its metadata
  "192.0.0.0/24", // protocol assignments, one more metadata address
  "168.63.129.16/32", // a cloud's host agent
  "224.0.0.0/3", // multicast, reserved, broadcast
] as const;

const REFUSED_V6 = [
  "::/128", // unspecified
  "fe80::/10", // link-local
  "fec0::/10", // site-local, given up
  "ff00::/8", // multicast
  "fd00:ec2::/32", // metadata
  "fd20:ce::/32", // metadata
  "2001::/32", // Teredo: the address inside is hidden
  "64:ff9b:1::/48", // NAT64 with a local prefix: where the address stands is the operator's choice
] as const;

/** What stands before an IPv4 address inside an IPv6 one, in groups and the bits they take. */
const WRAPPERS = [
  ["::", 96, ""], // "compatible"
  ["::ffff:0:", 96, ""], // translated; mapped ones are looked up as IPv4 by Node itself
  ["64:ff9b::", 96, ""], // NAT64
  ["2002:", 16, "::"], // 6to4
] as const;

const REFUSED = listOf([
  ...REFUSED_V4,
  ...REFUSED_V6,
  ...[...REFUSED_V4, "127.0.0.0/8"].flatMap(wrapped),
]);

function wrapped(range: string): string[] {
  const [address = "", bits = ""] = range.split("/");
  const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number);
  const groups = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
  return WRAPPERS.map(([front, width, back]) => `${front}${groups}${back}/${width + Number(bits)}`);
}

function listOf(ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = "", bits = ""] = range.split("/");
    list.addSubnet(address, Number(bits), address.includes(":") ? "ipv6" : "ipv4");
  }
  return list;
}

/** Whether a callback may connect there. Loopback only where the administrator allows it. */
export function isAllowedAddress(address: string, allowLoopback: boolean): boolean {
  const family = isIP(address);
  // A zone names an interface of this machine.
  if (family === 0 || address.includes("%")) return false;
  const kind = family === 4 ? "ipv4" : "ipv6";
  if (LOOPBACK.check(address, kind)) return allowLoopback;
  return !REFUSED.check(address, kind);
}

export interface FoundAddress {
  readonly address: string;
  readonly family: number;
}

/** Every address of a name, or the one that was written out. Rejects when there is none. */
export type Resolve = (host: string) => Promise<readonly FoundAddress[]>;

/** As every other program of this machine resolves it. */
export const resolveHere: Resolve = (host) => lookup(host, { all: true });

export type Checked =
  | { readonly ok: true; readonly addresses: readonly FoundAddress[] }
  | { readonly ok: false; readonly error: "unresolved" | "address_refused" };

export interface AddressRules {
  readonly resolve: Resolve;
  readonly allowLoopback: boolean;
}

/** One refused address refuses the name: nobody chooses among answers that are not meant well. */
export async function checkedAddresses(host: string, rules: AddressRules): Promise<Checked> {
  const addresses = await rules.resolve(host.replaceAll(/^\[|\]$/g, "")).catch(() => []);
  if (addresses.length === 0) return { ok: false, error: "unresolved" };
  const fit = addresses.every(({ address }) => isAllowedAddress(address, rules.allowLoopback));
  return fit ? { ok: true, addresses } : { ok: false, error: "address_refused" };
}
