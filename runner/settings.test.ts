import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readRunnerSettings, UsageError } from "./settings.ts";

let folder = "";
let remote: readonly string[] = [];
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "aim-runner-"));
  writeFileSync(join(folder, "token"), "aim_enr_first\n");
  writeFileSync(join(folder, "ca.pem"), "a certificate");
  remote = ["--token-file", join(folder, "token"), "--ca", join(folder, "ca.pem")];
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const read = (...args: readonly string[]) => readRunnerSettings(args, {});

test("a plane on this machine is reached by its socket and needs no token", () => {
  const { connection, enrolment, slots } = read("--state", "/srv/aim");
  expect(connection).toEqual({ socketPath: "/srv/aim/runner.sock" });
  expect(enrolment()).toBeNull();
  expect(slots).toBe(4);
});

test("a plane elsewhere is reached by HTTPS, with a token that is read anew each time", () => {
  const { connection, enrolment } = read("--plane", "https://plane.example:8443", ...remote);
  expect(connection).toEqual({ host: "plane.example", port: 8443, ca: ["a certificate"] });
  expect(enrolment()).toBe("aim_enr_first");
  writeFileSync(join(folder, "token"), "aim_enr_second\n");
  expect(enrolment()).toBe("aim_enr_second");
  const { connection: usual } = read("--plane", "https://[::1]/", ...remote);
  expect(usual).toMatchObject({ host: "::1", port: 443 });
});

test("runners with states of their own never share sandboxes", () => {
  const one = read("--plane", "https://plane.example", "--state", "one", ...remote);
  const two = read("--plane", "https://plane.example", "--state", "two", ...remote);
  expect(one.runtimeDir).not.toBe(two.runtimeDir);
});

test.for([
  ["http://plane.example", /takes https:/],
  ["plane.example:8443", /takes https:/],
  ["https://plane.example/path", /without a user/],
  ["https://user@plane.example", /without a user/],
  ["https://plane.example/?a", /without a user/],
] as const)("the plane %s is refused", ([plane, why]) => {
  expect(() => read("--plane", plane, ...remote)).toThrow(why);
});

test.for(["0", "257", "-1", "1.5", "", "two", "1e2"])("%j slots are refused", (slots) => {
  expect(() => read("--state", "/srv/aim", `--slots=${slots}`)).toThrow(/from 1 to 256/);
});

test.for(["1", "256"])("%s slots are taken", (slots) => {
  expect(read("--state", "/srv/aim", "--slots", slots).slots).toBe(Number(slots));
});

test("what is missing or cannot be read is said", () => {
  expect(() => read()).toThrow(UsageError);
  expect(() => read("--nonsense")).toThrow(UsageError);
  expect(() => read("--state", "/srv/aim", ...remote)).toThrow(/belong to --plane/);
  expect(() => read("--plane", "https://plane.example")).toThrow(/--token-file/);
  const nowhere = join(folder, "nowhere");
  const url = ["--plane", "https://plane.example"];
  expect(() => read(...url, "--token-file", nowhere)).toThrow(/cannot be read/);
  expect(() => read(...url, "--token-file", join(folder, "token"), "--ca", nowhere)).toThrow(
    /--ca: .* cannot be read/,
  );
});
