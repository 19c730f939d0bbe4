// A certificate authority of the test's own and a certificate for this machine's loopback.
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

export interface Certificates {
  /** The authority's own certificate. */
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** Writes the files below the folder, which has to be there; answers their paths. */
export function makeCertificates(folder: string): Certificates {
  const openssl = (...args: string[]) => execFileSync("openssl", args, { stdio: "pipe" });
  const at = (name: string) => join(folder, name);
  const fresh = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const ca = [at("ca.pem"), at("ca.key")] as const;
  openssl("req", "-x509", ...fresh, "-subj", "/CN=AIM test", "-out", ca[0], "-keyout", ca[1]);
  const request = at("server.csr");
  openssl("req", ...fresh, "-subj", "/CN=plane", "-out", request, "-keyout", at("server.key"));
  writeFileSync(at("names"), "subjectAltName=IP:127.0.0.1,DNS:localhost\n");
  const by = ["-CA", ca[0], "-CAkey", ca[1], "-CAcreateserial", "-extfile", at("names")];
  openssl("x509", "-req", "-in", request, ...by, "-out", at("server.pem"));
  return { ca: ca[0], cert: at("server.pem"), key: at("server.key") };
}
