// How often somebody may try: logins of an account and of an address, bad tokens and steps at the
// identity provider of an address. In memory, of this process.

const WINDOW_MS = 60_000;
const LOGINS_OF_ACCOUNT = 5;
const LOGINS_OF_ADDRESS = 20;
/** A login takes two or three; many people may come from one address. */
const SSO_STEPS_OF_ADDRESS = 120;
const BAD_TOKENS_OF_ADDRESS = 10;
/** Beyond so many keys the oldest are forgotten: the table never grows without end. */
const KEYS_MAX = 20_000;
/** From the fourth failure of an account on, whoever tries waits: half a second, doubled, up to eight. */
const DELAY = { after: 3, first: 500, most: 8_000 } as const;

export interface Limits {
  /**
   * Answers how long to wait before the password is looked at, or throws TooMany. An account is refused for one address
   * only: a stranger elsewhere slows its owner down, and never shuts them out.
   */
  readonly tryLogin: (account: string, address: string) => number;
  readonly loggedIn: (account: string, address: string) => void;
  /** Throws TooMany when the address took too many steps of logins by the identity provider. */
  readonly trySso: (address: string) => void;
  /** Throws TooMany when the address brought too many bad tokens. */
  readonly tryToken: (address: string) => void;
  readonly badToken: (address: string) => void;
}

/** On the local socket: whoever may open it need guess nothing. */
export const NO_LIMITS: Limits = {
  tryLogin: () => 0,
  loggedIn: () => undefined,
  trySso: () => undefined,
  tryToken: () => undefined,
  badToken: () => undefined,
};

/** Says when to come again, in whole seconds. */
export class TooMany extends Error {
  override readonly name = "TooMany";
  readonly retryAfterS: number;

  constructor(waitMs: number) {
    super("too many tries");
    this.retryAfterS = Math.max(1, Math.ceil(waitMs / 1000));
  }
}

/** `now` answers milliseconds. */
export function createLimits(now: () => number): Limits {
  const ofAccount = createCounter(now);
  const ofAddress = createCounter(now);
  const delays = createCounter(now);
  const ssoSteps = createCounter(now);
  const badTokens = createCounter(now);
  const pair = (account: string, address: string) => JSON.stringify([account, address]);
  return {
    tryLogin: (account, address) => {
      ofAddress.refuseFrom(address, LOGINS_OF_ADDRESS);
      ofAccount.refuseFrom(pair(account, address), LOGINS_OF_ACCOUNT);
      ofAddress.add(address);
      ofAccount.add(pair(account, address));
      const over = delays.add(account) - 1 - DELAY.after;
      return over < 0 ? 0 : Math.min(DELAY.first * 2 ** over, DELAY.most);
    },
    loggedIn: (account, address) => {
      ofAccount.forget(pair(account, address));
      delays.forget(account);
    },
    trySso: (address) => {
      ssoSteps.refuseFrom(address, SSO_STEPS_OF_ADDRESS);
      ssoSteps.add(address);
    },
    tryToken: (address) => badTokens.refuseFrom(address, BAD_TOKENS_OF_ADDRESS),
    badToken: (address) => void badTokens.add(address),
  };
}

/** Counts within the last minute, by key. */
function createCounter(now: () => number) {
  const seen = new Map<string, number[]>();

  function recent(key: string): number[] {
    return (seen.get(key) ?? []).filter((at) => now() - at < WINDOW_MS);
  }

  return {
    add: (key: string): number => {
      const times = [...recent(key), now()];
      seen.delete(key);
      seen.set(key, times);
      const [oldest] = seen.size > KEYS_MAX ? seen.keys() : [];
      if (oldest !== undefined) seen.delete(oldest);
      return times.length;
    },
    refuseFrom: (key: string, most: number): void => {
      const times = recent(key);
      const [first] = times.slice(-most);
      if (times.length >= most && first !== undefined) throw new TooMany(first + WINDOW_MS - now());
    },
    forget: (key: string): void => void seen.delete(key),
  };
}
