// How the plane speaks to an identity provider over TLS, and what it does not believe.
import { readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:https";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createProviderFetch } from "../../plane/auth/oidc/transport.ts";
import { makeCertificates, type Certificates } from "../harness/certificates.ts";
import { makeFolder } from "../harness/plane.ts";
import { startSsoPlane } from "../harness/sso-plane.ts";

const MIB = 1024 * 1024;

let folder: string;
let certificates: Certificates;
let server: Server;
let url: string;
beforeAll(async () => {
  folder = makeFolder("transport");
  certificates = makeCertificates(folder);
  const tls = { cert: readFileSync(certificates.cert), key: readFileSync(certificates.key) };
  server = createServer(tls, (request, response) => {
    if (request.url === "/elsewhere") response.writeHead(302, { location: "/" }).end();
    else response.end("x".repeat(Number(request.url?.slice(1))));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  server.close();
  await once(server, "close");
  rmSync(folder, { recursive: true, force: true });
});

test("a certificate counts when the named authority made it, and only then", async () => {
  const ask = (ca: string | null) => createProviderFetch(ca)(`${url}/2`, {});
  expect(await (await ask(readFileSync(certificates.ca, "utf8"))).text()).toBe("xx");
  await expect(ask(null)).rejects.toMatchObject({ code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE" });
});

test("an answer is read to its bound, and an address of another kind is not asked", async () => {
  const ask = createProviderFetch(readFileSync(certificates.ca, "utf8"));
  expect(await (await ask(`${url}/${MIB}`, {})).text()).toHaveLength(MIB);
  await expect(ask(`${url}/${MIB + 1}`, {})).rejects.toThrow("too large");
  expect((await ask(`${url}/elsewhere`, {})).status).toBe(302);
  for (const odd of ["http://id.example/", "file:///etc/passwd"]) {
    await expect(ask(odd, {})).rejects.toThrow("neither https nor of this machine");
  }
});

test("over TLS the cookie of a login is bound to this host", async () => {
  await using sso = await startSsoPlane({ tls: true });
  const { headers, status } = await sso.plane.ask({ path: "/v1/sso" });
  expect(status).toBe(302);
  expect(headers["set-cookie"]).toEqual([
    expect.stringMatching(
      /^__Host-aim-login=[\w-]{43}; Max-Age=600; Secure; HttpOnly; SameSite=Lax; Path=\/$/,
    ),
  ]);
});
