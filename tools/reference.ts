// Writes the reference pages that are nothing but the contract's own tables.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import * as contract from "@aim/contract";
import { ROOT } from "./steps.ts";

const FOLDER = join(ROOT, "docs/reference");

function errorsPage(): string {
  const problems = contract.PROBLEM_CODES.map((code) => {
    const [status, message] = contract.PROBLEMS[code];
    return `| \`${code}\` | ${status} | ${message} |`;
  });
  const runErrors = contract.RUN_ERROR_CODES.map(
    (code) => `| \`${code}\` | ${contract.RUN_ERRORS[code]} |`,
  );
  const hints = contract.HINT_CODES.map(
    (code) => `| \`${code}\` | ${contract.HINT_MESSAGES[code]} |`,
  );
  const causes = contract.CAUSE_CODES.map(
    (code) => `| \`${code}\` | ${contract.CAUSE_ADVICE[code]} |`,
  );
  return `# Errors

Every code is stable and every sentence is fixed. This page is made from the contract by \`tools/reference.ts\`.

## Refused requests

| code | HTTP status | message |
|---|---|---|
${problems.join("\n")}

## Why a run did not succeed

| code | message |
|---|---|
${runErrors.join("\n")}

## Hints of a host result

| code | message |
|---|---|
${hints.join("\n")}

## Causes of a host result

| code | advice |
|---|---|
${causes.join("\n")}

## Failure categories

${contract.FAILURE_CATEGORIES.map((category) => `\`${category}\``).join(", ")}
`;
}

function eventsPage(): string {
  const envelope = ["event_version", "run_id", "sequence", "timestamp", "kind"];
  const rows = Object.entries(contract.EVENT_SCHEMAS).map(([kind, schema]) => {
    const fields = Object.keys(schema.properties).filter((name) => !envelope.includes(name));
    return `| \`${kind}\` | ${fields.map((name) => `\`${name}\``).join(", ")} |`;
  });
  return `# Events

Every event has ${envelope.map((name) => `\`${name}\``).join(", ")}. The JSON Schema is \`contract/schemas/event.json\`.
This page is made from the contract by \`tools/reference.ts\`.

| kind | fields |
|---|---|
${rows.join("\n")}
`;
}

const FACES = {
  client: "On the local socket `aimd.sock`, and on TCP with `--listen`",
  local: "On the local socket only: they take secrets, or paths of this machine",
  runner: "On `runner.sock`, and for remote runners over TLS",
} as const;

function routesPage(): string {
  const routes = Object.values<contract.Route>(contract.ROUTES);
  const parts = Object.entries(FACES).map(([face, where]) => {
    const rows = routes
      .filter((route) => route.face === face)
      .map((route) => `| \`${route.method} ${route.path}\` | ${route.does} |`);
    return `## ${where}\n\n| route | does |\n|---|---|\n${rows.join("\n")}\n`;
  });
  return `# Routes

Operations, the events of a run and the runner protocol speak JSON lines: \`{"type":"response","response":…}\`,
\`{"type":"event","event":…}\` or \`{"type":"error","error":…}\`. Every other route answers one JSON document, and a refusal as
RFC 9457 \`application/problem+json\` with \`code\` and, where there is one, \`at\`. \`GET /v1/openapi.json\` describes all of them; the same
document is \`contract/schemas/openapi.json\`. This page is made from the contract by \`tools/reference.ts\`.

${parts.join("\n")}`;
}

/** Path below docs/reference to the text as it should stand. */
export function referencePages(): ReadonlyMap<string, string> {
  return new Map([
    ["errors.md", errorsPage()],
    ["events.md", eventsPage()],
    ["routes.md", routesPage()],
  ]);
}

if (import.meta.main) {
  for (const [name, text] of referencePages()) writeFileSync(join(FOLDER, name), text);
}
