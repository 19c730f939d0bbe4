import { beforeEach, expect, test } from "vitest";
import { newId } from "../../plane/base/ids.ts";
import type { Store } from "../../plane/store/store.ts";
import type { StoredUser } from "../../plane/store/uses/users.ts";
import { onBothStores } from "../harness/both-stores.ts";
import { aUser, NOW, saveRevision } from "./samples.ts";

onBothStores("users", (fresh) => {
  let store: Store;
  beforeEach(() => {
    store = fresh();
  });

  async function savedUser(name: string, fields: Partial<StoredUser> = {}): Promise<StoredUser> {
    const user = aUser(name, fields);
    expect(await store.createUser(user)).toBe(true);
    return user;
  }

  const open = (user: StoredUser, hash: string, replaces: string | null = null) =>
    store.openSession({
      hash,
      userId: user.id,
      created: NOW,
      lastSeen: NOW,
      idleExpires: NOW + 1_000,
      absoluteExpires: NOW + 5_000,
      replaces,
      passwordChanged: user.passwordChanged,
    });

  const holds = async (hash: string, now = NOW) =>
    (await store.readSession({ hash, now })) !== null;

  /** How far the epoch went while this was done. */
  async function bumped(work: () => Promise<unknown>): Promise<number> {
    const before = await store.readRightsEpoch();
    await work();
    return (await store.readRightsEpoch()) - before;
  }

  test("a name is given once, and so is an identity elsewhere", async () => {
    const oidc = { issuer: "https://id.example", subject: "1" };
    await savedUser("ada", { oidc });
    expect(await store.createUser(aUser("ada"))).toBe(false);
    expect(await store.createUser(aUser("bob", { oidc }))).toBe(false);
    await savedUser("cy");
    expect((await store.listUsers()).map(({ name }) => name)).toEqual(["ada", "cy"]);
    expect(await store.readUserByName({ name: "ada" })).toMatchObject({ oidc });
    expect(await store.anyUser()).toBe(true);
  });

  test.for([
    ["disabled", { disabled: true }],
    ["given other roles", { roles: [] }],
    ["given another password", { passwordHash: "x" }],
  ] as const)("a user who is %s has no session any more", async ([, change]) => {
    const ada = await savedUser("ada");
    const bob = await savedUser("bob");
    await open(ada, "1");
    await open(ada, "2");
    await open(bob, "3");
    const changed = () => store.changeUser({ id: ada.id, now: NOW + 1, ...change });
    expect(await bumped(changed)).toBe(1);
    expect([await holds("1"), await holds("2"), await holds("3")]).toEqual([false, false, true]);
  });

  test("no session is opened for whom the password that was shown is no longer good", async () => {
    const ada = await savedUser("ada");
    await store.changeUser({ id: ada.id, passwordHash: "new", now: NOW + 1 });
    expect(await open(ada, "1")).toBe(false);
    await store.changeUser({ id: ada.id, disabled: true, now: NOW + 1 });
    expect(await open({ ...ada, passwordChanged: NOW + 1 }, "1")).toBe(false);
    expect(await holds("1")).toBe(false);
  });

  test("a session ends when idle, when old, at its end and with the next one of its browser", async () => {
    const ada = await savedUser("ada");
    await open(ada, "1");
    expect(await holds("1", NOW + 999)).toBe(true);
    expect(await holds("1", NOW + 1_000)).toBe(false);
    await store.touchSession({ hash: "1", now: NOW + 900, idleExpires: NOW + 9_000 });
    expect(await holds("1", NOW + 4_999)).toBe(true);
    expect(await holds("1", NOW + 5_000)).toBe(false);
    await open(ada, "2", "1");
    expect([await holds("1"), await holds("2")]).toEqual([false, true]);
    await store.endSession({ hash: "2" });
    expect(await holds("2")).toBe(false);
  });

  test("a token is found by its id, and a revoked one keeps the moment", async () => {
    const ada = await savedUser("ada");
    const token = {
      id: newId("pat"),
      hash: "h",
      name: "laptop",
      userId: ada.id,
      service: null,
      roles: ada.roles,
      created: NOW,
      expires: NOW + 10,
      lastUsed: null,
      revoked: null,
    };
    expect(await bumped(() => store.saveToken(token))).toBe(1);
    const ofService = { ...token, id: newId("pat"), userId: null, service: "ci" };
    await store.saveToken(ofService);
    expect(await store.readToken({ id: token.id })).toEqual({ token, user: ada });
    expect(await store.readToken({ id: ofService.id })).toMatchObject({ user: null });
    await store.touchToken({ id: token.id, now: NOW + 1 });
    expect(await bumped(() => store.revokeToken({ id: token.id, now: NOW + 2 }))).toBe(1);
    await store.revokeToken({ id: token.id, now: NOW + 3 });
    expect(await store.listTokens({ userId: ada.id, limit: 10 })).toEqual([
      { ...token, lastUsed: NOW + 1, revoked: NOW + 2 },
    ]);
    expect(await store.listTokens({ userId: null, limit: 10 })).toHaveLength(2);
  });

  test("a token is forgotten thirty days after its end, when another one is made", async () => {
    const ada = await savedUser("ada");
    const made = async (created: number, expires: number): Promise<string> => {
      const id = newId("pat");
      const kept = { hash: "h", name: "n", userId: ada.id, service: null, roles: ada.roles };
      await store.saveToken({ id, ...kept, created, expires, lastUsed: null, revoked: null });
      return id;
    };
    const listed = async () =>
      (await store.listTokens({ userId: null, limit: 10 })).map(({ id }) => id).toSorted();
    const end = NOW + 10;
    const forgotten = end + 30 * 24 * 3_600_000;
    const first = await made(NOW, end);
    const later = await made(NOW, end + 1);
    await store.revokeToken({ id: first, now: NOW + 1 });
    const before = await made(forgotten - 1, forgotten + 1_000);
    expect(await listed()).toEqual([first, later, before].toSorted());
    const at = await made(forgotten, forgotten + 1_000);
    expect(await listed()).toEqual([later, before, at].toSorted());
    expect(await store.readToken({ id: first })).toBeNull();
    const after = await made(forgotten + 1, forgotten + 1_000);
    expect(await listed()).toEqual([before, at, after].toSorted());
  });

  test("the first administrator's code makes one user, once, and none where there are users", async () => {
    const first = { id: newId("usr"), name: "ada", roles: aUser("ada").roles };
    const use = (hash: string, now = NOW) =>
      store.useSetupCode({ hash, passwordHash: "p", first, now });
    const code = { userId: null, expires: NOW + 10, now: NOW };
    await store.saveSetupCode({ ...code, hash: "1" });
    await store.saveSetupCode({ ...code, hash: "2" });
    expect(await use("1")).toBeNull();
    const used = await Promise.all(Array.from({ length: 8 }, () => use("2")));
    expect(used.filter((user) => user !== null)).toHaveLength(1);
    await store.saveSetupCode({ ...code, hash: "3" });
    expect(await use("3")).toBeNull();
  });

  test("a code of a user sets the password once, and takes password and sessions until then", async () => {
    const ada = await savedUser("ada", { passwordHash: "old" });
    await open(ada, "1");
    const code = { userId: ada.id, expires: NOW + 10, now: NOW + 1 };
    await store.saveSetupCode({ ...code, hash: "1" });
    expect(await holds("1")).toBe(false);
    expect(await store.readUser({ id: ada.id })).toMatchObject({ passwordHash: null });
    expect(await store.readSetupCode({ hash: "1", now: NOW })).toMatchObject({
      user: { name: "ada" },
    });
    expect(await store.readSetupCode({ hash: "1", now: NOW + 10 })).toBeNull();
    const first = { id: newId("usr"), name: "x", roles: [] };
    const use = { hash: "1", passwordHash: "new", first, now: NOW + 2 };
    expect(await store.useSetupCode(use)).toMatchObject({ id: ada.id, passwordHash: "new" });
    expect(await store.useSetupCode(use)).toBeNull();
    await store.saveSetupCode({ ...code, hash: "2" });
    expect(await store.useSetupCode({ ...use, hash: "2", now: NOW + 10 })).toBeNull();
  });

  test("the first approval of a revision stands until the revision ends", async () => {
    await saveRevision(store, "a");
    const approval = { revision: "a", customer: "acme", approved: NOW, expires: NOW + 1_000 };
    const by = (name: string, at = NOW) =>
      store.saveApproval({
        ...approval,
        by: name,
        byName: name,
        approved: at,
        expires: at + 1_000,
      });
    expect(await by("ada")).toMatchObject({ by: "ada" });
    expect(await by("bob")).toMatchObject({ by: "ada" });
    expect(await store.readApproval({ revision: "a", now: NOW + 999 })).toMatchObject({
      by: "ada",
    });
    expect(await store.readApproval({ revision: "a", now: NOW + 1_000 })).toBeNull();
    expect(await by("bob", NOW + 1_000)).toMatchObject({ by: "bob" });
    const open = await store.listRevisions({ now: NOW, limit: 10 });
    expect(open.map(({ revision }) => revision)).toEqual(["a"]);
    expect(await store.listRevisions({ now: NOW + 1_000, limit: 10 })).toEqual([]);
  });

  test("the switch of execution is on until it is off", async () => {
    expect(await store.readExecution()).toBe(true);
    await store.setExecution({ enabled: false });
    expect(await store.readExecution()).toBe(false);
    await store.setExecution({ enabled: true });
    expect(await store.readExecution()).toBe(true);
  });
});
