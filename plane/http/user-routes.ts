// Users and tokens. Translates; decides nothing.
import type { FastifyInstance } from "fastify";
import { AimError, NewTokenSchema, NewUserSchema, ROUTES, UserChangeSchema } from "@aim/contract";
import type { AccessParts } from "../core/access.ts";
import { createApiTokens } from "../core/api-tokens.ts";
import { createUsers } from "../core/users.ts";
import { check } from "./check.ts";
import { whoAsks } from "./identity.ts";
import { sendJson } from "./reply.ts";

const CREATED = 201;
const USER_ID = /^usr_[0-9a-hjkmnp-tv-z]{26}$/;
const TOKEN_ID = /^pat_[0-9a-hjkmnp-tv-z]{26}$/;

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
    const { token_id = "" } = request.params as { token_id?: string };
    if (!TOKEN_ID.test(token_id)) throw new AimError("not_found");
    await tokens.revoke(whoAsks(request), token_id);
    return sendJson(reply, {});
  });
}

function userIdOf(params: unknown): string {
  const { user_id = "" } = params as { user_id?: string };
  if (!USER_ID.test(user_id)) throw new AimError("not_found");
  return user_id;
}
