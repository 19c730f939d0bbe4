import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createPlaneClient } from "./plane-client.ts";

test("a plane that names another place is not followed there", async () => {
  const folder = mkdtempSync(join(tmpdir(), "aim-client-"));
  const socketPath = join(folder, "plane.sock");
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.url} ${request.headers.authorization}`);
    response.writeHead(307, { location: "/elsewhere" }).end('{"response":{}}');
  });
  server.listen(socketPath);
  await once(server, "listening");
  try {
    const client = createPlaneClient({ socketPath }, () => "token");
    await expect(client.move("run_1", { epoch: 1, to: "running" })).rejects.toThrow(
      /another place/,
    );
    expect(asked).toEqual(["/runner/v1/attempts/run_1/state Bearer token"]);
  } finally {
    server.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
