// SPDX-License-Identifier: Apache-2.0
// A runner of its own for tests that stop or kill one: opens a sandbox with a
// hostile tool in it, says where, and then does nothing.
import { once } from "node:events";
import { namespaceOf } from "../proof.ts";
import { openSandbox } from "../sandbox.ts";
import { HOSTILE, shell, testConfig, testJob } from "./fixture.ts";

const sandbox = await openSandbox(testConfig(process.argv[2]), "driven");
sandbox.extendDeadline(Number(process.argv[3]));
const tool = await sandbox.start(testJob(shell(HOSTILE)));
tool.stderr.resume();
await once(tool.stdout, "data");
console.log(JSON.stringify({ initPid: sandbox.initPid, namespace: namespaceOf(sandbox.initPid) }));
setInterval(() => undefined, 1_000);
