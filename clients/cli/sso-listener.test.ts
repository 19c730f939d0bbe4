import { expect, test } from "vitest";
import { listenForCode } from "./sso-listener.ts";

test("a code that comes is given on, once the browser has its answer", async () => {
  await using listener = await listenForCode(60_000);
  const code = "c".repeat(43);
  const page = await fetch(`http://127.0.0.1:${listener.port}/?code=${code}`);
  expect(await page.text()).toContain("aimctl is logging in");
  expect(await listener.code()).toBe(code);
});

test("what went wrong in the browser goes wrong here", async () => {
  await using listener = await listenForCode(60_000);
  await fetch(`http://127.0.0.1:${listener.port}/?error=sso_denied`);
  await expect(listener.code()).rejects.toMatchObject({ code: "sso_denied" });
});

test("nobody is waited for longer than was said", async () => {
  await using listener = await listenForCode(10);
  await expect(listener.code()).rejects.toMatchObject({
    exitCode: 69,
    message: "The login in the browser did not end in time, so nothing was changed.",
  });
});
