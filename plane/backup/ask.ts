// Asks the running plane of a state folder for a backup, over its own socket.
import { request } from "node:http";
import { ROUTES, type BackupReport, type BackupRequest } from "@aim/contract";
import { StoreRefused } from "../store/refused.ts";

const NOBODY = new Set(["ENOENT", "ECONNREFUSED"]);

/** Null when no plane runs there. Throws StoreRefused with the plane's words for a refusal. */
export function askForBackup(
  socketPath: string,
  wish: BackupRequest,
): Promise<BackupReport | null> {
  const { path, method } = ROUTES.backup;
  const headers = { "content-type": "application/json" };
  return new Promise((resolve, reject) => {
    const outgoing = request({ socketPath, path, method, headers, agent: false }, (incoming) => {
      const pieces: Buffer[] = [];
      incoming.on("data", (piece: Buffer) => pieces.push(piece));
      incoming.on("error", reject);
      incoming.on("end", () => {
        const answer = JSON.parse(Buffer.concat(pieces).toString()) as BackupReport & {
          readonly title?: string;
          readonly at?: string;
        };
        if (incoming.statusCode === 200) resolve(answer);
        else
          reject(new StoreRefused(`the plane refused: ${answer.title ?? ""} ${answer.at ?? ""}`));
      });
    });
    outgoing.on("error", (error: NodeJS.ErrnoException) => {
      if (NOBODY.has(error.code ?? "")) resolve(null);
      else reject(error);
    });
    outgoing.end(JSON.stringify(wish));
  });
}
