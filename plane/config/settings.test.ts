import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  readBackupWish,
  readDatabasePlace,
  readRestoreWish,
  readSettings,
  readTokenRequest,
  UsageError,
} from "./settings.ts";

const JOB_TYPES = ["one.run", "two.run"];
let cert = "";
let key = "";
let otherKey = "";
let folder = "";

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "aim-settings-"));
  const make = (name: string) => {
    const [out, keyout] = [join(folder, `${name}.pem`), join(folder, `${name}.key`)];
    const fresh = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    const args = ["req", "-x509", ...fresh, "-subj", "/CN=plane", "-out", out, "-keyout", keyout];
    execFileSync("openssl", args, { stdio: "pipe" });
    return [out, keyout] as const;
  };
  [cert, key] = make("one");
  [, otherKey] = make("two");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const serve = (...args: readonly string[]) => readSettings(["--state", "/srv/aim", ...args], {});
const listen = ["--runner-listen", "127.0.0.1:8443"];

function tokenFor(...args: readonly string[]) {
  const known = { jobTypes: JOB_TYPES, reserved: "local" };
  return readTokenRequest(["--state", "/srv/aim", ...args], {}, known);
}

test("a silent runner after a cancel makes the attempt lost, or cancelled where that is asked for", () => {
  expect(serve().silentCancel).toBe("lost");
  expect(serve("--silent-cancel", "cancelled").silentCancel).toBe("cancelled");
  for (const state of ["", "failed", "Lost"]) {
    expect(() => serve("--silent-cancel", state)).toThrow(UsageError);
  }
});

test("runners elsewhere are heard with a certificate and its key only", () => {
  expect(serve().runnerListen).toBeNull();
  expect(serve(...listen, "--tls-cert", cert, "--tls-key", key).runnerListen).toMatchObject({
    host: "127.0.0.1",
    port: 8443,
  });
  for (const args of [
    listen,
    ["--tls-cert", cert, "--tls-key", key],
    [...listen, "--tls-cert", cert],
    [...listen, "--tls-cert", join(folder, "nowhere"), "--tls-key", key],
    [...listen, "--tls-cert", cert, "--tls-key", otherKey],
    [...listen, "--tls-cert", key, "--tls-key", cert],
    ["--runner-listen", "nowhere", "--tls-cert", cert, "--tls-key", key],
  ]) {
    expect(() => serve(...args)).toThrow(UsageError);
  }
});

test("clients elsewhere are heard by TLS only, and without it nobody but this machine is", () => {
  const tls = ["--tls-cert", cert, "--tls-key", key];
  for (const host of ["127.0.0.1", "127.8.8.8", "[::1]", "localhost"]) {
    expect(serve("--listen", `${host}:8080`).listen).toMatchObject({ port: 8080, tls: null });
  }
  for (const host of ["0.0.0.0", "[::]", "192.0.2.1", "127.0.0.1.example", "plane.example"]) {
    expect(() => serve("--listen", `${host}:8080`)).toThrow(UsageError);
    expect(serve("--listen", `${host}:8443`, ...tls).listen?.tls).toMatchObject({});
  }
});

test("a token is asked for by name, for an hour and every job type unless told otherwise", () => {
  const asked = { stateDir: "/srv/aim", name: "depot-1" };
  expect(tokenFor("--name", "depot-1")).toEqual({ ...asked, jobTypes: null, ttlMs: 3_600_000 });
  const narrow = tokenFor("--name", "depot-1", "--job-types", "one.run,two.run", "--ttl-s", "60");
  expect(narrow).toEqual({ ...asked, jobTypes: JOB_TYPES, ttlMs: 60_000 });
});

test.for([
  ["no name", []],
  ["the local name", ["--name", "local"]],
  ["a name with a blank", ["--name", "a b"]],
  ["a name in capitals", ["--name", "Depot"]],
  ["an unknown job type", ["--name", "a", "--job-types", "one.run,no.such"]],
  ["an empty list of job types", ["--name", "a", "--job-types="]],
  ["too short a life", ["--name", "a", "--ttl-s", "59"]],
  ["too long a life", ["--name", "a", "--ttl-s", "2592001"]],
  ["a life in words", ["--name", "a", "--ttl-s", "long"]],
] as const)("a token with %s is not made", ([, args]) => {
  expect(() => tokenFor(...args)).toThrow(UsageError);
});

test("each attempt's journal keeps 20,000 events and 8 MiB unless told otherwise", () => {
  expect(serve().journal).toEqual({ maxEvents: 20_000, maxBytes: 8_388_608 });
  const narrow = ["--journal-max-events", "100", "--journal-max-bytes", "65536"];
  expect(serve(...narrow).journal).toEqual({ maxEvents: 100, maxBytes: 65_536 });
  const wide = ["--journal-max-events", "200000", "--journal-max-bytes", "67108864"];
  expect(serve(...wide).journal).toEqual({ maxEvents: 200_000, maxBytes: 67_108_864 });
});

test.for([
  ["--journal-max-events", "99"],
  ["--journal-max-events", "200001"],
  ["--journal-max-events", "many"],
  ["--journal-max-events", ""],
  ["--journal-max-bytes", "65535"],
  ["--journal-max-bytes", "67108865"],
  ["--journal-max-bytes", "70000.5"],
] as const)("%s %s is refused with what it takes", ([option, value]) => {
  expect(() => serve(option, value)).toThrow(
    new RegExp(`${option} takes a whole number from \\d+`),
  );
});

test("a backup and a restore name one place beside their options", () => {
  const state = ["--state", "/srv/aim"];
  expect(readBackupWish([...state, "--with-keys", "/backup"], {})).toEqual({
    stateDir: "/srv/aim",
    database: null,
    target: "/backup",
    withKeys: true,
  });
  expect(readRestoreWish(["/backup", ...state], {})).toEqual({
    source: "/backup",
    stateDir: "/srv/aim",
  });
  expect(readDatabasePlace(state, {})).toEqual({ stateDir: "/srv/aim", database: null });
  for (const words of [state, [...state, "/one", "/two"], [...state, "--with-key", "/one"]]) {
    expect(() => readBackupWish(words, {})).toThrow(UsageError);
    expect(() => readRestoreWish(words, {})).toThrow(UsageError);
  }
});

test.each(["collector:4318", "ftp://collector", "http://user:word@collector", "http://c/?token=1"])(
  "traces do not go to %s",
  (address) => {
    expect(() => serve("--otlp-endpoint", address)).toThrow(UsageError);
  },
);

test("traces go nowhere, and an older schema is brought up, unless it is said otherwise", () => {
  expect(serve()).toMatchObject({ otlpEndpoint: null, migrate: true });
  const told = serve("--otlp-endpoint", "http://collector:4318", "--no-migrate");
  expect(told).toMatchObject({ otlpEndpoint: "http://collector:4318", migrate: false });
});
