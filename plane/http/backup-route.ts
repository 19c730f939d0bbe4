// A backup of the running plane. On the local socket only: it takes a path of this machine.
import type { FastifyInstance } from "fastify";
import { BackupRequestSchema, ROUTES } from "@aim/contract";
import { allowed } from "../audit/chain.ts";
import { makeBackup, type BackupParts } from "../backup/backup.ts";
import type { CoreParts } from "../core/parts.ts";
import { check } from "./check.ts";
import { whoAsks } from "./identity.ts";
import { sendJson } from "./reply.ts";

export interface BackupRouteParts extends CoreParts {
  readonly keys: BackupParts["keys"];
}

export function addBackupRoute(app: FastifyInstance, parts: BackupRouteParts): void {
  app.post(ROUTES.backup.path, async (request, reply) => {
    const wish = check(BackupRequestSchema, request.body);
    const entry = allowed(whoAsks(request), {
      action: "setting.write",
      customer: null,
      what: {},
      detail: { route: "backup", with_keys: wish.with_keys },
      now: parts.clock.now(),
    });
    // Before the first byte leaves: a copy of everything is not taken unseen.
    await parts.store.recordAudit({ entry });
    return sendJson(reply, await makeBackup(parts, wish));
  });
}
