// Stands for a plane's entry where only its start is under test: answers on the socket and notes that it ran.
import { appendFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";

const stateDir = process.argv[process.argv.indexOf("--state") + 1] ?? "";
appendFileSync(join(stateDir, "starts"), `${process.pid}\n`);
createServer((_request, response) => response.end("{}")).listen(join(stateDir, "aimd.sock"));
