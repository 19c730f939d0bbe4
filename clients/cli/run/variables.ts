// `-e` as ansible-playbook takes it: `key=value` words (values are text), one JSON object, or `@file` with one.
import { parseStrict } from "@aim/contract";
import { readFileSync } from "node:fs";
import { EXIT } from "../exit-codes.ts";
import { CliFault } from "../fault.ts";
import { visible } from "../render/escape.ts";

export type Variables = Record<string, unknown>;

const NAME = /^[\p{L}_][\p{L}\p{N}_]*$/v;
const ESCAPES = /\\(?:U[0-9A-Fa-f]{8}|u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|[\\'"abfnrtv])/g;
const SINGLE_ESCAPES: Readonly<Record<string, string>> = {
  a: "\u0007",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};

/** Merges all `-e` options in order; a later one wins. Throws CliFault 64 for what cannot be read. */
export function readVariables(options: readonly string[]): Variables {
  const variables: Variables = {};
  for (const option of options) Object.assign(variables, readOption(option));
  return variables;
}

function readOption(option: string): Variables {
  const text = option.trim();
  if (text.startsWith("@")) return readVariablesFile(text.slice(1));
  if (text.startsWith("{") || text.startsWith("[")) return parseJson(text, "-e");
  return parseKeyValues(text);
}

function readVariablesFile(path: string): Variables {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch {
    throw usage(`The variables file ${visible(path)} cannot be read.`);
  }
  if (text.startsWith("$ANSIBLE_VAULT")) {
    throw usage(
      `The variables file ${visible(path)} is vaulted. Put it into the project as group_vars or vars_files.`,
    );
  }
  if (!text.trimStart().startsWith("{")) {
    throw usage(
      `The variables file ${visible(path)} is not a JSON object. YAML is not supported here: use JSON, or group_vars of the project.`,
    );
  }
  return parseJson(text, `@${visible(path)}`);
}

function parseJson(text: string, place: string): Variables {
  try {
    return parseStrict(text);
  } catch {
    throw usage(
      `The variables of ${place} are not one JSON object with each name once and in plain text. YAML is not supported here.`,
    );
  }
}

function parseKeyValues(text: string): Variables {
  const variables: Variables = {};
  for (const word of splitWords(text)) {
    const at = word.indexOf("=");
    const name = word.slice(0, Math.max(0, at));
    // The word itself is not repeated: it may hold a secret.
    if (at === -1) {
      throw usage("A word of -e has no '='. Write key=value, a JSON object or @file.json.");
    }
    if (!NAME.test(name)) {
      throw usage("A name of -e is no variable name. Use letters, digits and underscores.");
    }
    variables[name] = decodeEscapes(unquote(word.slice(at + 1)));
  }
  return variables;
}

/** Splits at white space outside quotes and outside Jinja braces, as Ansible does. */
function splitWords(text: string): string[] {
  const words: string[] = [];
  const state: WordState = { word: "", quote: "", braces: 0 };
  for (let index = 0; index < text.length; index += 1) {
    const character = text.charAt(index);
    if (state.quote === "" && state.braces === 0 && /\s/.test(character)) {
      if (state.word !== "") words.push(state.word);
      state.word = "";
      continue;
    }
    follow(state, character, text.charAt(index + 1));
  }
  if (state.quote !== "") throw usage("A quote of -e is not closed.");
  if (state.word !== "") words.push(state.word);
  return words;
}

interface WordState {
  word: string;
  quote: string;
  braces: number;
}

function follow(state: WordState, character: string, next: string): void {
  const escaped = /(?:^|[^\\])(?:\\\\)*\\$/.test(state.word);
  if ((character === '"' || character === "'") && !escaped) {
    if (state.quote === "") state.quote = character;
    else if (state.quote === character) state.quote = "";
  }
  if (state.quote === "" && character === "{" && /[{%#]/.test(next)) state.braces += 1;
  if (state.quote === "" && character === "}" && /[}%#]$/.test(state.word)) {
    state.braces = Math.max(0, state.braces - 1);
  }
  state.word += character;
}

function unquote(value: string): string {
  const quote = value.charAt(0);
  const quoted = value.length > 1 && (quote === '"' || quote === "'") && value.endsWith(quote);
  return quoted && value.at(-2) !== "\\" ? value.slice(1, -1) : value;
}

function decodeEscapes(value: string): string {
  return value.replaceAll(ESCAPES, (sequence) => {
    const letter = sequence.charAt(1);
    if (sequence.length === 2) return SINGLE_ESCAPES[letter] ?? letter;
    const codePoint = Number.parseInt(sequence.slice(2), 16);
    return codePoint <= 0x10ffff ? String.fromCodePoint(codePoint) : "\u{fffd}";
  });
}

function usage(sentence: string): CliFault {
  return new CliFault(EXIT.usage, sentence);
}
