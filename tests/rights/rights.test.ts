import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ROUTES, type Action, type Principal, type Route, type RouteName } from "@aim/contract";
import { can, mayAtAll, type Resource } from "../../plane/auth/can.ts";
import { writeCustomer } from "../harness/catalog.ts";
import { makeFolder } from "../harness/plane.ts";
import { asPage, startTeamPlane, type TeamAnswer, type TeamPlane } from "../harness/team-plane.ts";
import { SPEC } from "../store/samples.ts";
import { ROWS, type About, type Row } from "./rows.ts";
import { ABROAD, HOME, seed, WHICH, type Asker, type Seeded, type Which } from "./seed.ts";

// AIM_WRITE_MATRIX=1 writes the table anew; read the difference before you keep it.
const TABLE = fileURLToPath(new URL("./matrix.txt", import.meta.url));
const WRITE = process.env["AIM_WRITE_MATRIX"] === "1";

/** May, may see but not do, is not there, nobody knows who asks. */
type Cell = "yes" | "403" | "404" | "401";

let home = "";
let plane: TeamPlane;
let seeded: Seeded;
beforeAll(async () => {
  home = makeFolder("rights");
  seeded = await seed(join(home, "state"));
  plane = await startTeamPlane({ home });
  for (const customer of [HOME, ABROAD]) {
    const playbooks = { site: { playbook: "site.yml" } };
    writeCustomer(plane.catalogDir, { customer, playbooks, files: { "inventory.ini": "one\n" } });
  }
});
afterAll(async () => {
  await plane[Symbol.asyncDispose]();
  rmSync(home, { recursive: true, force: true });
});

const routeOf = (name: string) => ROUTES[name.split(":")[0] as RouteName] as Route;
const actionOf = (name: string, row: Row): Action | null => row.action ?? routeOf(name).action;

test("every route that clients reach by TCP has a row, and every row a route", () => {
  const served = Object.entries<Route>(ROUTES).filter(([, { face }]) => face === "client");
  const rows = new Set(Object.keys(ROWS).map((name) => name.split(":")[0] ?? ""));
  expect(rows).toEqual(new Set(served.map(([name]) => name)));
});

async function ask(asker: Asker | null, name: string, which: Which): Promise<TeamAnswer> {
  const row = ROWS[name];
  const things = (asker ?? seeded.askers[0])?.things[which];
  if (row === undefined || things === undefined) throw new Error("no row");
  const { type = "application/json", ...sent } = row.send(things, seeded);
  const cookie = row.ends === true ? asker?.spareCookie : asker?.cookie;
  // Each has an address of their own: how often one may try is counted.
  const index = asker === null ? 100 : seeded.askers.indexOf(asker) + 2;
  const page = cookie === undefined ? {} : asPage(cookie);
  const headers = { "aim-request": "1", "content-type": type };
  return plane.ask({ ...sent, ...page, headers, from: `127.0.0.${index}` });
}

/** An answer that tells of refusals, as the audit does, is none itself. */
function codeOf({ status, text }: TeamAnswer): string {
  if (status === 200 && text.startsWith("[")) return "";
  return /"code":"([a-z_]+)"/.exec(text)?.[1] ?? "";
}

function cellOf(row: Row, answer: TeamAnswer, shown: string): Cell {
  const code = codeOf(answer);
  if (code === "unauthenticated") return "401";
  if (code === "not_permitted") return "403";
  if (answer.status === 404) return "404";
  if (answer.status >= 500 && answer.status !== 503) throw new Error(`defect: ${answer.text}`);
  return row.shown !== undefined && !answer.text.includes(shown) ? "404" : "yes";
}

function expected(asker: Asker, name: string, which: Exclude<Which, "missing">): Cell {
  const row = ROWS[name];
  if (row === undefined) throw new Error("no row");
  const action = actionOf(name, row);
  const who: Principal = { kind: "user", id: asker.id, name: asker.name, roles: [...asker.roles] };
  if (action === null) return "yes";
  if (!mayAtAll(who, routeOf(name).action ?? action)) return "403";
  const { user: owner, customer } = asker.things[which];
  const resource: Resource = { owner, customer, jobType: SPEC.job_type };
  const jobType = SPEC.job_type;
  const may: Record<About, boolean> = {
    open: true,
    anywhere: true,
    platform: can(who, action),
    customer: can(who, action, { customer, jobType }),
    users: can(who, action) || can(who, action, { customer }),
    token: owner === asker.id || can(who, "user.write"),
    tokens: owner === asker.id || can(who, "user.write"),
    job: can(who, action, resource),
    jobs: can(who, action, resource),
    usage: can(who, action, resource),
    revision: can(who, action, resource),
    revisions: can(who, action, resource),
  };
  if (may[row.about]) return "yes";
  const sees: Partial<Record<About, boolean>> = {
    platform: true,
    job: can(who, "job.read", resource),
    revision: can(who, "revision.read", resource),
  };
  return sees[row.about] === true ? "403" : "404";
}

interface Asked {
  readonly name: string;
  readonly row: Row;
  readonly asker: Asker;
}

/** A row about no thing is asked once: some of what it does can be done once only. */
const SINGLE: ReadonlySet<string> = new Set(["open", "anywhere", "platform"]);

/** Asks all cells of a role; answers them, and in words what is wrong with them. */
async function askAll({ name, row, asker }: Asked): Promise<{ cells: Cell[]; wrong: string[] }> {
  const cells: Cell[] = [];
  const wrong: string[] = [];
  const answers = new Map<Which, TeamAnswer>();
  for (const which of SINGLE.has(row.about) ? (["own"] as const) : WHICH) {
    const answer = await ask(asker, name, which);
    answers.set(which, answer);
    const cell = cellOf(row, answer, row.shown?.(asker.things[which]) ?? "");
    cells.push(cell);
    const wanted = which === "missing" ? cell : expected(asker, name, which);
    if (cell !== wanted) wrong.push(`${name} ${asker.name} ${which}: ${cell}, not ${wanted}`);
  }
  const [foreign, missing] = [answers.get("foreign"), answers.get("missing")];
  if (foreign?.status === 404 && `404${foreign.text}` !== `${missing?.status}${missing?.text}`) {
    wrong.push(`${name} ${asker.name}: foreign and missing differ`);
  }
  return { cells, wrong };
}

test("who may do what is what the table says, what can says, and what the plane does", async () => {
  const parts: string[] = [];
  const wrong: string[] = [];
  for (const [name, row] of Object.entries(ROWS)) {
    const { method, path } = routeOf(name);
    const [, operation] = name.split(":");
    parts.push(`${method} ${path}${operation === undefined ? "" : ` (${operation})`}`);
    for (const asker of seeded.askers) {
      const asked = await askAll({ name, row, asker });
      parts.push(lineOf(asker.name, asked.cells));
      wrong.push(...asked.wrong);
    }
    const nobody = cellOf(row, await ask(null, name, "own"), "");
    parts.push(lineOf("nobody", [nobody]));
    const asksWho = actionOf(name, row) !== null;
    if ((nobody === "401") !== asksWho) wrong.push(`${name} nobody: ${nobody}`);
  }
  expect(wrong).toEqual([]);
  const table = `${HEADING}\n${parts.join("\n")}\n`;
  if (WRITE) writeFileSync(TABLE, table);
  expect(table).toBe(readFileSync(TABLE, "utf8"));
});

const HEADING = `Who may do what, as the plane answers it over HTTP. Four cells for each role: a thing of one's own, one of somebody
else of the same customer, one of another customer, one that is not there. A single cell where there is no thing.
yes: done, or refused for another reason than rights. 403: may be seen and not done, or the role has nothing of the
kind. 404: not there for this role. 401: nobody knows who asks. Everybody has their role for one customer, the
platform administrator and the auditor of all have it for all. Written by AIM_WRITE_MATRIX=1
vitest run --project whole tests/rights.
`;

function lineOf(role: string, cells: readonly Cell[]): string {
  return `  ${role.padEnd(15)}${cells.map((cell) => cell.padEnd(4)).join("")}`.trimEnd();
}
