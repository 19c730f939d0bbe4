// Follows one journal with many connections, in a process of its own; tells on stdout how late each record came.
// Arguments: URL, job, number of connections, and `read` or `idle`. Ends with its stdin.
import { get, type IncomingMessage } from "node:http";

const [url = "", job = "", wanted = "1", mode = "read"] = process.argv.slice(2);
const late: number[] = [];
const RECORDED = /"timestamp":"([^"]+)"/g;

function onData(text: string): void {
  const now = Date.now();
  for (const [, time = ""] of text.matchAll(RECORDED)) late.push(now - Date.parse(time));
}

function open(): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    get(`${url}/v1/jobs/${job}/journal/stream`, { agent: false }, resolve).on("error", reject);
  });
}

for (let count = 0; count < Number(wanted); count += 1) {
  const stream = await open();
  stream.setEncoding("utf8");
  stream.on("error", () => undefined);
  if (mode === "read") stream.on("data", onData);
  else stream.resume();
}
process.stdout.write("open\n");
process.stdin.resume();
process.stdin.on("end", () => {
  process.stdout.write(`${JSON.stringify(late)}\n`, () => process.exit(0));
});
