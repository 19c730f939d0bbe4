// Which names and addresses mean this very machine.

const LOOPBACK = /^(?:127(?:\.\d{1,3}){3}|::1|\[::1\]|localhost)$/;

/** `host` as in an address or a URL: IPv6 with or without brackets. */
export function isLoopback(host: string): boolean {
  return LOOPBACK.test(host);
}
