// Users, sessions and tokens as typed functions.
import {
  pathOf,
  type ExecutionSetting,
  type LoggedIn,
  type Login,
  type MadeToken,
  type NewToken,
  type NewUser,
  type Principal,
  type RevisionView,
  type Setup,
  type SsoCode,
  type TokenView,
  type UserChange,
  type UserCode,
  type UserView,
} from "@aim/contract";
import type { Json } from "./jobs.ts";

export interface AccessCalls {
  /** A token instead of a session when the login asks for one. */
  login(login: Login): Promise<LoggedIn>;
  /** Uses a one-time code up. */
  setup(setup: Setup): Promise<LoggedIn>;
  /** Uses up the code with which a login in a browser ended. */
  redeemSso(code: SsoCode): Promise<LoggedIn>;
  /** Ends the session or token that this client comes with. */
  logout(): Promise<void>;
  whoAmI(): Promise<Principal>;
  users(): Promise<readonly UserView[]>;
  createUser(user: NewUser): Promise<UserCode>;
  changeUser(userId: string, change: UserChange): Promise<UserView>;
  resetPassword(userId: string): Promise<UserCode>;
  tokens(): Promise<readonly TokenView[]>;
  createToken(token: NewToken): Promise<MadeToken>;
  revokeToken(tokenId: string): Promise<void>;
  /** Revisions that may still be executed; only those that need an approval when asked. */
  revisions(waiting?: boolean): Promise<readonly RevisionView[]>;
  revision(revision: string): Promise<RevisionView>;
  approve(revision: string): Promise<RevisionView>;
  /** Switches execution on or off for everybody; answers what holds now. */
  setExecution(enabled: boolean): Promise<ExecutionSetting>;
}

export function accessCalls(json: Json): AccessCalls {
  const get = <T>(path: string) => json<T>({ method: "GET", path });
  const post = <T>(path: string, body: unknown = {}) =>
    json<T>({ method: "POST", path, body: JSON.stringify(body) });
  return {
    login: (login) => post(pathOf("login"), login),
    setup: (setup) => post(pathOf("setup"), setup),
    redeemSso: (code) => post(pathOf("ssoRedeem"), code),
    logout: async () => void (await post(pathOf("logout"))),
    whoAmI: () => get(pathOf("session")),
    users: () => get(pathOf("userList")),
    createUser: (user) => post(pathOf("userCreate"), user),
    changeUser: (user_id, change) => post(pathOf("userChange", { user_id }), change),
    resetPassword: (user_id) => post(pathOf("passwordReset", { user_id })),
    tokens: () => get(pathOf("tokenList")),
    createToken: (token) => post(pathOf("tokenCreate"), token),
    revisions: (waiting = false) =>
      get(`${pathOf("revisionList")}${waiting ? "?waiting=true" : ""}`),
    revision: (revision) => get(pathOf("revision", { revision })),
    approve: (revision) => post(pathOf("approve", { revision })),
    setExecution: (enabled) =>
      json({
        method: "PUT",
        path: pathOf("executionSetting"),
        body: JSON.stringify({ enabled }),
      }),
    revokeToken: async (token_id) => void (await post(pathOf("tokenRevoke", { token_id }))),
  };
}
