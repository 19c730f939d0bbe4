// Loaded before a plane or a runner: its wall clock differs from the machine's by as many milliseconds as a file says,
// read anew at each look. The monotonic timer stays what it is, as on a machine whose clock is set.
import { readFileSync } from "node:fs";

const path = process.env["AIM_CLOCK_FILE"] ?? "";
const RealDate = Date;

function now(): number {
  return RealDate.now() + Number(readFileSync(path, "utf8"));
}

globalThis.Date = new Proxy(RealDate, {
  apply: () => new RealDate(now()).toString(),
  construct: (target, args: unknown[], made) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args, made) as Date,
  get: (target, key, self) => (key === "now" ? now : (Reflect.get(target, key, self) as unknown)),
});
