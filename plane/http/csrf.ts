// A browser sends its cookies along with whatever page it shows: a change counts only when our own page asked for it.
import type { FastifyRequest } from "fastify";
import { AimError } from "@aim/contract";

const SAFE = new Set(["GET", "HEAD"]);
const OWN_SITE = new Set([undefined, "same-origin", "none"]);
const PLAIN_TYPES = /^application\/(?:json|octet-stream)(?:;|$)/;

/** For everybody, with a cookie or without: a login must not come from somebody else's page either. */
export function checkSite({ headers, method }: FastifyRequest): void {
  if (SAFE.has(method)) return;
  const site = headers["sec-fetch-site"];
  const { origin, host } = headers;
  const own = origin === undefined || hostOf(origin) === host;
  const known = site === undefined || (typeof site === "string" && OWN_SITE.has(site));
  if (!own || !known) throw new AimError("cross_site");
}

/** For whoever comes with a cookie: what no form and no page of another origin can send without being asked first. */
export function checkOwnPage({ headers, method }: FastifyRequest): void {
  if (SAFE.has(method)) return;
  const typed = PLAIN_TYPES.test(headers["content-type"] ?? "");
  if (headers["aim-request"] !== "1" || !typed) throw new AimError("cross_site");
}

function hostOf(origin: string): string | null {
  return URL.canParse(origin) ? new URL(origin).host : null;
}
