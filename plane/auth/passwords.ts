// Passwords: which may be chosen, and argon2id over them. Few at once, since each takes 64 MiB and a tenth of a second.
import { argon2, randomBytes, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { AimError, PASSWORD_CODE_POINTS } from "@aim/contract";

const derive = promisify(argon2);

export interface Cost {
  readonly memoryKib: number;
  readonly passes: number;
  readonly parallelism: number;
}

const COST: Cost = { memoryKib: 64 * 1024, passes: 3, parallelism: 1 };
const HASH_BYTES = 32;
const SALT_BYTES = 16;
const AT_ONCE = 2;
/** Whoever comes behind so many is sent away: waiting would only be longer. */
const WAITING_MAX = 64;

export interface Passwords {
  /** In the usual notation: `$argon2id$v=19$m=…,t=…,p=…$salt$hash`. */
  readonly hash: (password: string) => Promise<string>;
  /** Takes the same time where there is no hash, and is then false. */
  readonly verify: (password: string, hash: string | null) => Promise<boolean>;
}

/** Both reject with too_many_requests when too many wait already. */
export function createPasswords(cost: Cost = COST): Passwords {
  const turn = createTurns(AT_ONCE, WAITING_MAX);
  const nobodys = encode(cost, randomBytes(SALT_BYTES), randomBytes(HASH_BYTES));

  async function hash(password: string): Promise<string> {
    const salt = randomBytes(SALT_BYTES);
    return encode(cost, salt, await turn(() => run(cost, salt, password)));
  }

  async function verify(password: string, stored: string | null): Promise<boolean> {
    const { salt, hash: wanted, ...paid } = decode(stored ?? nobodys);
    const found = await turn(() => run(paid, salt, password));
    return timingSafeEqual(found, wanted) && stored !== null;
  }

  return { hash, verify };
}

function run(cost: Cost, nonce: Buffer, password: string): Promise<Buffer> {
  return derive("argon2id", {
    message: Buffer.from(password.normalize("NFC")),
    nonce,
    parallelism: cost.parallelism,
    tagLength: HASH_BYTES,
    memory: cost.memoryKib,
    passes: cost.passes,
  });
}

function encode(cost: Cost, salt: Buffer, hash: Buffer): string {
  const bare = (bytes: Buffer) => bytes.toString("base64").replaceAll("=", "");
  const { memoryKib: m, passes: t, parallelism: p } = cost;
  return `$argon2id$v=19$m=${m},t=${t},p=${p}$${bare(salt)}$${bare(hash)}`;
}

interface Decoded extends Cost {
  readonly salt: Buffer;
  readonly hash: Buffer;
}

function decode(text: string): Decoded {
  const pattern = /^\$argon2id\$v=19\$m=(\d+),t=(\d+),p=(\d+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/;
  const [, m, t, p, salt, hash] = pattern.exec(text) ?? [];
  if (salt === undefined || hash === undefined) throw new Error("a kept password hash is no hash");
  return {
    memoryKib: Number(m),
    passes: Number(t),
    parallelism: Number(p),
    salt: Buffer.from(salt, "base64"),
    hash: Buffer.from(hash, "base64"),
  };
}

/** Lets `atOnce` works run and the next ones wait for their turn. */
function createTurns(atOnce: number, waitingMax: number) {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async <T>(work: () => Promise<T>): Promise<T> => {
    if (running >= atOnce) {
      if (waiting.length >= waitingMax) throw new AimError("too_many_requests");
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else running += 1;
    try {
      return await work();
    } finally {
      // A turn is handed on, so that nobody slips in between.
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}

const common: ReadonlySet<string> = new Set(
  readFileSync(new URL("./common-passwords.txt", import.meta.url), "utf8").split("\n"),
);

/** Throws password_refused for one that is too short, too long, among the commonest or says the name. */
export function checkPassword(password: string, name: string): void {
  const { length } = Array.from(password.normalize("NFC"));
  const plain = password.toLowerCase();
  const fits = length >= PASSWORD_CODE_POINTS.least && length <= PASSWORD_CODE_POINTS.most;
  const guessed = common.has(plain) || plain === name || new Set(plain).size < 3;
  if (!fits || guessed) throw new AimError("password_refused", "/password");
}
