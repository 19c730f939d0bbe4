// Loaded before a plane or a runner: kills its process at the n-th time that it comes to a named point.
// AIM_KILL_AT holds `name:n`. Threads of the process load it too, so that a point in any of them counts.
import { subscribe } from "node:diagnostics_channel";

const [wanted = "", times = "1"] = (process.env["AIM_KILL_AT"] ?? "").split(":");
let left = Number(times);

subscribe("aim:point", (name) => {
  if (name !== wanted) return;
  left -= 1;
  if (left === 0) process.kill(process.pid, "SIGKILL");
});
