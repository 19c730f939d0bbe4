// Users and tokens. Translates; decides nothing.
import type { FastifyInstance } from "fastify";
import {
  NewTokenSchema,
  NewUserSchema,
  ROUTES,
  TokenIdSchema,
  UserChangeSchema,
  UserIdSchema,
} from "@aim/contract";
import type { AccessParts } from "../core/access.ts";
import { createApiTokens } from "../core/api-tokens.ts";
import { createUsers } from "../core/users.ts";
import { check } from "./check.ts";
import { whoAsks } from "./identity.ts";
import { idIn } from "./params.ts";
import { sendJson } from "./reply.ts";

const CREATED = 201;
const userIdOf = idIn("user_id", UserIdSchema);
const tokenIdOf = idIn("token_id", TokenIdSchema);

export function addUserRoutes(app: FastifyInstance, parts: AccessParts): void {
  const users = createUsers(parts);
  app.get(ROUTES.userList.path, async (request, reply) =>
    sendJson(reply, await users.list(whoAsks(request))),
  );
  app.post(ROUTES.userCreate.path, async (request, reply) => {
    const wish = check(NewUserSchema, request.body);
    return sendJson(reply.code(CREATED), await users.create(whoAsks(request), wish));
  });
  app.post(ROUTES.userChange.path, async (request, reply) => {
    const change = check(UserChangeSchema, request.body);
    return sendJson(reply, await users.change(whoAsks(request), userIdOf(request.params), change));
  });
  app.post(ROUTES.passwordReset.path, async (request, reply) =>
    sendJson(reply, await users.resetPassword(whoAsks(request), userIdOf(request.params))),
  );
}

export function addTokenRoutes(app: FastifyInstance, parts: AccessParts): void {
  const tokens = createApiTokens(parts);
  app.get(ROUTES.tokenList.path, async (request, reply) =>
    sendJson(reply, await tokens.list(whoAsks(request))),
  );
  app.post(ROUTES.tokenCreate.path, async (request, reply) => {
    const wish = check(NewTokenSchema, request.body);
    return sendJson(reply.code(CREATED), await tokens.make(whoAsks(request), wish));
  });
  app.post(ROUTES.tokenRevoke.path, async (request, reply) => {
    await tokens.revoke(whoAsks(request), tokenIdOf(request.params));
    return sendJson(reply, {});
  });
}
