import { beforeEach, expect, test } from "vitest";
import type { GrantedRole } from "@aim/contract";
import { newId } from "../../plane/base/ids.ts";
import type { Store } from "../../plane/store/store.ts";
import type { UseSsoCode } from "../../plane/store/uses/sso-codes.ts";
import type { SsoEnter } from "../../plane/store/uses/sso-enter.ts";
import type { SsoFlow } from "../../plane/store/uses/sso-flows.ts";
import type { SsoLogout } from "../../plane/store/uses/sso-logout.ts";
import { onBothStores } from "../harness/both-stores.ts";
import { aUser, NOW } from "./samples.ts";

const ISSUER = "https://id.example";
const VIEWER: GrantedRole = { role: "viewer", customer: "acme", job_types: null };
const OPERATOR: GrantedRole = { role: "operator", customer: "acme", job_types: null };

onBothStores("single sign-on", (fresh) => {
  let store: Store;
  beforeEach(() => {
    store = fresh();
  });

  const session = (hash: string, replaces: string | null = null): SsoEnter["gives"] => ({
    session: { hash, idleExpires: NOW + 1_000, absoluteExpires: NOW + 5_000 },
    replaces,
  });
  const enter = (hash: string, more: Partial<SsoEnter> = {}) =>
    store.ssoEnter({
      issuer: ISSUER,
      subject: "1",
      subjectDigest: "subject 1",
      sidDigest: "sid 1",
      sidExpires: NOW + 10_000,
      roles: [VIEWER],
      fresh: { id: newId("usr"), names: ["ada", "oidc-1"] },
      gives: session(hash),
      begun: NOW,
      now: NOW,
      route: "login",
      ...more,
    });
  const logout = (jtiDigest: string, more: Partial<SsoLogout> = {}) =>
    store.ssoLogout({
      issuer: ISSUER,
      subject: "1",
      subjectDigest: "subject 1",
      sidDigest: null,
      jtiDigest,
      now: NOW + 1,
      expires: NOW + 100,
      route: "logout",
      ...more,
    });
  const holds = async (hash: string) => (await store.readSession({ hash, now: NOW })) !== null;
  const roleRows = async () =>
    (await store.readAudit({ after: 0, limit: 100 })).map(({ detail }) => detail.roles ?? null);

  test("a flow is taken once, before it is over, and only so many are open", async () => {
    const flow = (hash: string, more: Partial<SsoFlow> = {}) => {
      const wanted = { hash, replaces: null, waiter: null, expires: NOW + 10, ...more };
      return store.saveSsoFlow({ ...wanted, now: NOW, most: 3 });
    };
    const waiter = { port: 40_000, challenge: "c" };
    expect([
      await flow("1"),
      await flow("2", { waiter, replaces: "old" }),
      await flow("3"),
    ]).toEqual([true, true, true]);
    expect(await flow("4")).toBe(false);
    expect(await store.takeSsoFlow({ hash: "2", now: NOW + 9 })).toEqual({
      hash: "2",
      replaces: "old",
      waiter,
      expires: NOW + 10,
    });
    expect(await store.takeSsoFlow({ hash: "2", now: NOW + 9 })).toBeNull();
    expect(await store.takeSsoFlow({ hash: "1", now: NOW + 10 })).toBeNull();
    expect(await flow("5")).toBe(true);
    const later = { hash: "6", replaces: null, waiter: null, expires: NOW + 20 };
    expect(await store.saveSsoFlow({ ...later, now: NOW + 10, most: 1 })).toBe(true);
    expect(await store.takeSsoFlow({ hash: "5", now: NOW })).toBeNull();
  });

  test("issuer and subject find the user, whatever their name", async () => {
    const local = aUser("ada", { roles: [OPERATOR] });
    await store.createUser(local);
    const first = await enter("1");
    expect(first).toMatchObject({
      user: { name: "oidc-1", oidc: { issuer: ISSUER, subject: "1" } },
    });
    const again = await enter("2", { fresh: { id: newId("usr"), names: ["new"] } });
    expect(again).toEqual(first);
    const elsewhere = await enter("3", {
      issuer: "https://other.example",
      fresh: { id: newId("usr"), names: ["ada", "other"] },
    });
    expect(elsewhere).toMatchObject({ user: { name: "other" } });
    expect(await enter("4", { subject: "2" })).toEqual({ refused: "no_name", userId: null });
    expect(await store.readUserByName({ name: "ada" })).toEqual(local);
  });

  test("roles are written and told only where they differ, and then other sessions end", async () => {
    await enter("1", { roles: [VIEWER, OPERATOR] });
    await enter("2", { roles: [OPERATOR, VIEWER] });
    expect([await holds("1"), await holds("2")]).toEqual([true, true]);
    await enter("3");
    expect([await holds("1"), await holds("2"), await holds("3")]).toEqual([false, false, true]);
    const told = (role: string) => ({ role, customer: "acme", narrowed: false });
    expect(await roleRows()).toEqual([[told("viewer"), told("operator")], null, [told("viewer")]]);
  });

  test("without a role nobody comes in, and who had one has it no longer", async () => {
    expect(await enter("1", { roles: [] })).toEqual({ refused: "no_role", userId: null });
    expect(await store.anyUser()).toBe(false);
    await enter("2");
    const { id } = (await store.readUserByName({ name: "ada" })) ?? {};
    expect(await enter("3", { roles: [] })).toEqual({ refused: "no_role", userId: id });
    expect([await holds("2"), await holds("3")]).toEqual([false, false]);
    expect(await store.readUserByName({ name: "ada" })).toMatchObject({ roles: [] });
    await enter("4", { roles: [] });
    expect((await roleRows()).at(-1)).toEqual([]);
    expect(await roleRows()).toHaveLength(2);
  });

  test("a disabled user keeps the roles and stays out", async () => {
    await enter("1");
    const { id = "" } = (await store.readUserByName({ name: "ada" })) ?? {};
    await store.changeUser({ id, disabled: true, now: NOW });
    expect(await enter("2", { roles: [OPERATOR] })).toEqual({ refused: "disabled", userId: id });
    expect(await store.readUser({ id })).toMatchObject({ roles: [VIEWER], disabled: true });
  });

  test("the session before ends with the new one", async () => {
    await enter("1");
    await enter("2", { gives: session("2", "1") });
    expect([await holds("1"), await holds("2")]).toEqual([false, true]);
  });

  test("many who come at once are one user", async () => {
    const came = await Promise.all(
      Array.from({ length: 8 }, (_, index) => enter(`${index}`, { sidDigest: `sid ${index}` })),
    );
    expect(new Set(came.map((one) => ("user" in one ? one.user.id : ""))).size).toBe(1);
    expect(await store.listUsers()).toHaveLength(1);
    expect((await roleRows()).filter((roles) => roles !== null)).toHaveLength(1);
  });

  test("a code gives one token, to whoever knows what its challenge is made of, before it is over", async () => {
    const enterFor = (hash: string) =>
      enter("", { gives: { code: { hash, challenge: "c", expires: NOW + 10 } } });
    await enterFor("1");
    const ada = await store.readUserByName({ name: "ada" });
    const token = () => ({
      id: newId("pat"),
      hash: "h",
      name: "laptop",
      userId: ada?.id ?? "",
      service: null,
      roles: [VIEWER],
      created: NOW,
      expires: NOW + 1_000,
      lastUsed: null,
      revoked: null,
    });
    const take = (hash: string, more: Partial<UseSsoCode> = {}) =>
      store.useSsoCode({ hash, challenge: "c", now: NOW + 9, token: token(), ...more });
    expect(await store.readSsoCode({ hash: "1", now: NOW + 9 })).toEqual(ada);
    expect(await store.readSsoCode({ hash: "1", now: NOW + 10 })).toBeNull();
    const taken = await Promise.all(Array.from({ length: 8 }, () => take("1")));
    expect(taken.filter(Boolean)).toHaveLength(1);
    await enterFor("2");
    expect(await take("2", { now: NOW + 10 })).toBe(false);
    await enterFor("3");
    expect([await take("3", { challenge: "d" }), await take("3")]).toEqual([false, false]);
    await enterFor("4");
    expect(await take("4", { token: { ...token(), userId: aUser("bob").id } })).toBe(false);
    const kept = await store.listTokens({ userId: null, limit: 10 });
    expect(kept).toHaveLength(1);
    for (let round = 0; round < 6; round += 1) {
      await enterFor(`met ${round}`);
      await Promise.all([take(`met ${round}`), logout(`jti ${round}`, { now: NOW - 1 })]);
    }
    const after = await store.listTokens({ userId: null, limit: 10 });
    expect(after.filter(({ revoked }) => revoked === null)).toEqual([]);
  });

  test("a logout ends everything of one user, once, and each token of it counts once", async () => {
    await enter("1");
    await enter("2", {
      subject: "2",
      subjectDigest: "subject 2",
      sidDigest: "sid 2",
      fresh: { id: newId("usr"), names: ["bob"] },
    });
    const before = await store.readRightsEpoch();
    const heard = await Promise.all(Array.from({ length: 8 }, () => logout("1")));
    expect(heard.filter(Boolean)).toHaveLength(1);
    expect(await store.readRightsEpoch()).toBeGreaterThan(before);
    expect([await holds("1"), await holds("2")]).toEqual([false, true]);
    expect(await logout("2", { subject: null, subjectDigest: null, sidDigest: "sid 2" })).toBe(
      true,
    );
    expect(await holds("2")).toBe(false);
    expect(await logout("3", { subject: "nobody", subjectDigest: "nobody" })).toBe(true);
    expect(await logout("1", { now: NOW + 99 })).toBe(false);
    expect(await logout("1", { now: NOW + 100 })).toBe(true);
  });

  test("what was logged out while somebody came in stays out", async () => {
    await logout("1", { now: NOW });
    expect(await enter("1")).toEqual({ refused: "logged_out", userId: null });
    expect(await enter("2", { begun: NOW + 1 })).toHaveProperty("user");
    await logout("2", { subject: null, subjectDigest: null, sidDigest: "sid 1", now: NOW });
    expect(await enter("3", { begun: NOW + 1 })).toMatchObject({ refused: "logged_out" });
  });

  test.for(["the person", "the session"] as const)(
    "a login and a logout of %s that meet leave no session",
    async (about) => {
      for (let round = 0; round < 12; round += 1) {
        const subject = `subject ${round}`;
        const sidDigest = `sid ${round}`;
        const own = { subject, subjectDigest: subject };
        const bySid = { subject: null, subjectDigest: null, sidDigest };
        const fresh = { id: newId("usr"), names: [`user${round}`] };
        const hash = `session ${round}`;
        await Promise.all([
          enter(hash, { ...own, sidDigest, fresh }),
          logout(`jti ${round}`, about === "the person" ? own : bySid),
        ]);
        expect([round, await holds(hash)]).toEqual([round, false]);
      }
    },
  );
});
