// Static analysis of reviewed YAML: which tasks can know whether they changed something, and what a reviewer must see.
// Reads source only; evaluates nothing. What it cannot understand counts as unverified.
import { posix } from "node:path";
import { FINDINGS, type Finding, type FindingCode } from "@aim/contract";
import {
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseAllDocuments,
  type Node,
  type YAMLMap,
} from "yaml";
import { BUILTIN_MODULES, KEYWORDS } from "./task-words.ts";

export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

export interface Analysis {
  /** `path:line` of a task to whether its changed results can be believed. */
  readonly knows: ReadonlyMap<string, boolean>;
  readonly findings: readonly Finding[];
  /** Places of tasks that remove or stop something. */
  readonly destructive: readonly string[];
}

const ALWAYS_CHANGED = new Set([
  "command",
  "shell",
  "raw",
  "script",
  "win_command",
  "win_shell",
  "expect",
]);
const DESTROYS =
  /\brm\s+(-\w+\s+)*-\w*[rf]|\bmkfs\b|\bdd\s+.*of=|\bshutdown\b|\breboot\b|\bdrop\s+(table|database|schema)\b|\btruncate\s+table\b|\bwipefs\b/i;
const CONTROLLER_LOOKUP =
  /\b(?:lookup|query|q)\s*\(\s*["'](?:ansible\.builtin\.)?(?:pipe|url|lines)["']/;
/** Deeper nesting than any block structure a person writes; stops hostile input. */
const DEPTH_MAX = 64;

const WEIGHTS: Partial<Record<FindingCode, Finding["weight"]>> = {
  destructive: "needs_approval",
  check_mode_off: "needs_approval",
  code_plugin: "needs_approval",
  host_key_checking_off: "needs_approval",
};

export function finding(code: FindingCode, at: string | null): Finding {
  return { code, weight: WEIGHTS[code] ?? "note", message: FINDINGS[code], at };
}

/**
 * Judges every task of the files. `playbook` is the one that runs: other playbooks beside it count only when it
 * imports them; null when none does (a role alone).
 */
export function analyse(files: Iterable<SourceFile>, playbook: string | null): Analysis {
  const parsed = [...files].map(parseFile);
  const running = importedFrom(playbook, parsed);
  const knows = new Map<string, boolean>();
  const findings: Finding[] = [];
  const destructive: string[] = [];
  for (const file of parsed) {
    if (file.isPlaybook && !running.has(file.path)) continue;
    for (const { at, fields } of file.mappings) {
      const verdict = judge(fields);
      if (verdict === null) continue;
      knows.set(at, verdict.knows);
      findings.push(...verdict.codes.map((code) => finding(code, at)));
      if (verdict.codes.includes("destructive")) destructive.push(at);
    }
  }
  return { knows, findings, destructive };
}

interface ParsedFile {
  readonly path: string;
  /** Its own list holds a play. */
  readonly isPlaybook: boolean;
  readonly imports: readonly string[];
  readonly mappings: readonly { readonly at: string; readonly fields: Fields }[];
}

/** Where lists of tasks stand inside a play or a block; nothing else of a mapping is a task. */
const TASK_LISTS = ["pre_tasks", "tasks", "post_tasks", "handlers", "block", "rescue", "always"];

function parseFile({ path, text }: SourceFile): ParsedFile {
  const lines = new LineCounter();
  const mappings: { at: string; fields: Fields }[] = [];
  const plays: Fields[] = [];
  const walk = (list: unknown, depth: number): void => {
    if (depth > DEPTH_MAX || !isSeq(list)) return;
    for (const item of list.items.filter((node) => isMap(node))) {
      const fields = fieldsOf(item);
      if (depth === 0) plays.push(fields);
      const offset = (item.items[0]?.key as Node | undefined)?.range?.[0];
      if (offset === undefined) continue;
      mappings.push({ at: `${path}:${lines.linePos(offset).line}`, fields });
      for (const name of TASK_LISTS) walk(fields.get(name), depth + 1);
    }
  };
  for (const document of documentsOf(text, lines)) walk(document, 0);
  return {
    path,
    mappings,
    isPlaybook: plays.some((fields) => fields.has("hosts") || importOf(fields) !== undefined),
    imports: plays.flatMap((fields) => importOf(fields) ?? []),
  };
}

function importOf(fields: Fields): string | undefined {
  for (const [key, value] of fields) {
    if (shortName(key) === "import_playbook") return textOf(value) ?? "";
  }
  return undefined;
}

/** The playbook and all that it imports, each found beside the one that names it. */
function importedFrom(playbook: string | null, files: readonly ParsedFile[]): ReadonlySet<string> {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const found = new Set<string>();
  const open = playbook === null ? [] : [playbook];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (found.has(path)) continue;
    found.add(path);
    for (const name of byPath.get(path)?.imports ?? []) {
      open.push(posix.normalize(posix.join(posix.dirname(path), name)));
    }
  }
  return found;
}

function documentsOf(text: string, lineCounter: LineCounter): unknown[] {
  try {
    const documents = parseAllDocuments(text, {
      version: "1.1",
      uniqueKeys: false,
      logLevel: "silent",
      lineCounter,
    });
    return Array.isArray(documents) ? documents.map((document) => document.contents) : [];
  } catch {
    return [];
  }
}

type Fields = ReadonlyMap<string, unknown>;

/** Of a repeated key the last one counts, as in Ansible. */
function fieldsOf(map: YAMLMap): Fields {
  const fields = new Map<string, unknown>();
  for (const { key, value } of map.items) {
    if (isScalar(key) && typeof key.value === "string") fields.set(key.value, value);
  }
  return fields;
}

function shortName(action: string): string {
  return action.replace(/^ansible\.(?:builtin|legacy|windows)\./, "");
}

interface Verdict {
  readonly knows: boolean;
  readonly codes: readonly FindingCode[];
}

/** A mapping that is a task: its action's short name, whether ansible-core ships it, and what it was given. */
interface Task {
  readonly name: string;
  readonly known: boolean;
  readonly args: unknown;
  readonly fields: Fields;
}

/** Judges one mapping; null when it is no task, block or play. */
function judge(fields: Fields): Verdict | null {
  if (["hosts", "import_playbook", "block"].some((word) => fields.has(word))) {
    return { knows: true, codes: keywordFindings(fields) };
  }
  const task = taskOf(fields);
  return task === null ? null : { knows: canKnow(task), codes: taskFindings(task) };
}

function taskOf(fields: Fields): Task | null {
  const legacy = fields.get("action") ?? fields.get("local_action");
  const [action, ...others] =
    legacy === undefined
      ? [...fields.keys()].filter((key) => !KEYWORDS.has(key) && !key.startsWith("with_"))
      : [legacyAction(legacy)];
  if (action === undefined || others.length > 0) return null;
  const name = shortName(action);
  const known = BUILTIN_MODULES.has(name);
  // A plain mapping of data has one key too; a task has a dotted or known action, or a keyword beside it.
  if (!known && !action.includes(".") && fields.size === 1) return null;
  return { name, known, args: fields.get(action) ?? legacy, fields };
}

function legacyAction(value: unknown): string | undefined {
  if (isScalar(value) && typeof value.value === "string") {
    return value.value.trim().split(/\s/, 1)[0];
  }
  return isMap(value) ? textOf(fieldsOf(value).get("module")) : undefined;
}

function canKnow({ name, known, args, fields }: Task): boolean {
  if (textOf(fields.get("poll")) === "0") return false;
  if (ALWAYS_CHANGED.has(name)) {
    return fields.has("changed_when") || hasGuard(args, fields.get("args"));
  }
  return known;
}

function hasGuard(...places: unknown[]): boolean {
  return places.some((place) => {
    if (isMap(place)) return place.has("creates") || place.has("removes");
    return /\b(?:creates|removes)=/.test(textOf(place) ?? "");
  });
}

function keywordFindings(fields: Fields): FindingCode[] {
  const codes: FindingCode[] = [];
  if (fields.has("check_mode") && !isLiteral(fields.get("check_mode"), true)) {
    codes.push("check_mode_off");
  }
  if (fields.has("debugger")) codes.push("debugger");
  return codes;
}

function taskFindings(task: Task): FindingCode[] {
  const { name, known, fields } = task;
  const codes = keywordFindings(fields);
  if (!known) codes.push("effect_unknown");
  else if (!canKnow(task)) codes.push("change_unverified");
  if (hidesChange(task)) codes.push("change_hidden");
  if (name === "add_host") codes.push("dynamic_hosts");
  if (isDestructive(task)) codes.push("destructive");
  if (runsOnController(fields)) codes.push("controller_execution");
  return codes;
}

/** A command that is told it never changes is how commands that read are written; a module is not. */
function hidesChange({ name, fields }: Task): boolean {
  if (isLiteral(fields.get("failed_when"), false)) return true;
  return isLiteral(fields.get("changed_when"), false) && !ALWAYS_CHANGED.has(name);
}

const ENDING_STATES = ["absent", "stopped", "killed", "removed", "poweredoff"];

function isDestructive({ name, args, fields }: Task): boolean {
  if (name === "reboot" || name === "shutdown") return true;
  if (ALWAYS_CHANGED.has(name)) return DESTROYS.test(sourceOf(args));
  const extra = fields.get("args");
  const states = [args, extra].map((place) =>
    isMap(place)
      ? textOf(place.get("state", true))
      : /\bstate=(\w+)/.exec(textOf(place) ?? "")?.[1],
  );
  return states.some((state) => state !== undefined && ENDING_STATES.includes(state));
}

function runsOnController(fields: Fields): boolean {
  if (fields.has("local_action")) return true;
  if (["localhost", "127.0.0.1", "::1"].includes(textOf(fields.get("delegate_to")) ?? ""))
    return true;
  if (textOf(fields.get("connection")) === "local") return true;
  return [...fields.values()].some((value) => CONTROLLER_LOOKUP.test(sourceOf(value)));
}

function isLiteral(value: unknown, wanted: boolean): boolean {
  const words = wanted ? ["true", "yes", "on"] : ["false", "no", "off"];
  return words.includes((textOf(value) ?? "").toLowerCase());
}

function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (!isScalar(value)) return undefined;
  const plain: unknown = value.value;
  const simple = ["string", "number", "boolean", "bigint"].includes(typeof plain);
  return simple ? String(plain) : undefined;
}

/** Scalar texts below a node, joined; blocks are tasks of their own and are not descended into. */
function sourceOf(value: unknown, depth = 0): string {
  if (depth > 8) return "";
  if (isScalar(value)) return textOf(value) ?? "";
  if (isSeq(value)) return value.items.map((item) => sourceOf(item, depth + 1)).join(" ");
  if (isMap(value)) return value.items.map((pair) => sourceOf(pair.value, depth + 1)).join(" ");
  return "";
}
