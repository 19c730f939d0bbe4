// Looks for secrets in bytes, in every form in which a program could have written them. Shares no code with AIM.

const WINDOW = 10;
const BASE = 0x01_00_01_93;
const FILTER_BITS = 22;

interface Needle {
  readonly bytes: Buffer;
  readonly canary: string;
  readonly form: string;
}

export interface Sighting {
  readonly canary: string;
  readonly form: string;
  readonly at: number;
}

/** Every form of one secret. Base64 is cut to what does not depend on its neighbours, for each of three places. */
function formsOf(canary: string): [form: string, text: string][] {
  const bytes = Buffer.from(canary);
  const json = JSON.stringify(canary).slice(1, -1);
  const url = encodeURIComponent(canary);
  return [
    ["raw", canary],
    ["json", json],
    ["json in json", JSON.stringify(json).slice(1, -1)],
    ["json in ascii", inAscii(json)],
    ["url", url],
    ["url, strict", percent(url, /[!'()*~]/g)],
    ["form", percent(url, /[!'()~]/g).replaceAll("%20", "+")],
    ["hex", bytes.toString("hex")],
    ["hex, upper", bytes.toString("hex").toUpperCase()],
    ...[0, 1, 2].flatMap((shift): [string, string][] => {
      const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString("base64");
      const from = [0, 2, 3][shift] ?? 0;
      const whole = Math.floor(((shift + bytes.length) * 8) / 6);
      const cut = text.slice(from, whole);
      return [
        [`base64 at ${shift}`, cut],
        [`base64url at ${shift}`, cut.replaceAll("+", "-").replaceAll("/", "_")],
      ];
    }),
  ];
}

function percent(text: string, marks: RegExp): string {
  return text.replaceAll(marks, (mark) => `%${hexOf(mark).toUpperCase()}`);
}

function hexOf(mark: string): string {
  return mark.charCodeAt(0).toString(16).padStart(2, "0");
}

/** Everything beyond ASCII as `\\u…`, as some writers of JSON do. */
function inAscii(text: string): string {
  return text.replaceAll(
    /[^\0-\x7f]/g,
    (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function hashAt(bytes: Uint8Array, from: number): number {
  let hash = 0;
  for (let index = from; index < from + WINDOW; index += 1) {
    hash = (Math.imul(hash, BASE) + (bytes[index] ?? 0)) | 0;
  }
  return hash;
}

/** A rolling hash over ten bytes finds where a needle may begin; only there are bytes compared. */
export class Scanner {
  readonly #needles = new Map<number, Needle[]>();
  readonly #filter = new Uint8Array(1 << FILTER_BITS);
  readonly #leave: number;

  constructor(canaries: readonly string[]) {
    let power = 1;
    for (let index = 1; index < WINDOW; index += 1) power = Math.imul(power, BASE);
    this.#leave = power;
    const known = new Set<string>();
    for (const canary of canaries) {
      for (const [form, text] of formsOf(canary)) {
        if (text.length < WINDOW || known.has(text)) continue;
        known.add(text);
        this.#add({ bytes: Buffer.from(text), canary, form });
      }
    }
  }

  #add(needle: Needle): void {
    const hash = hashAt(needle.bytes, 0);
    this.#needles.set(hash, [...(this.#needles.get(hash) ?? []), needle]);
    this.#filter[slot(hash)] = 1;
  }

  scan(bytes: Uint8Array): Sighting[] {
    const found: Sighting[] = [];
    if (bytes.length < WINDOW) return found;
    let hash = hashAt(bytes, 0);
    for (let at = 0; ; at += 1) {
      if (this.#filter[slot(hash)] === 1) found.push(...this.#compare(bytes, at, hash));
      const enters = bytes[at + WINDOW];
      if (enters === undefined) return found;
      const rest = (hash - Math.imul(bytes[at] ?? 0, this.#leave)) | 0;
      hash = (Math.imul(rest, BASE) + enters) | 0;
    }
  }

  #compare(bytes: Uint8Array, at: number, hash: number): Sighting[] {
    return (this.#needles.get(hash) ?? [])
      .filter((needle) => needle.bytes.equals(bytes.subarray(at, at + needle.bytes.length)))
      .map(({ canary, form }) => ({ canary, form, at }));
  }
}

function slot(hash: number): number {
  return (Math.imul(hash, 0x9e_37_79_b1) >>> (32 - FILTER_BITS)) & ((1 << FILTER_BITS) - 1);
}
