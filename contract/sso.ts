// Single sign-on: what a program sends that waits on its own machine while somebody logs in with a browser.
import { Type, type Static } from "typebox";
import { WantedTokenSchema } from "./users.ts";

const closed = { additionalProperties: false } as const;

/** 256 random bits or a SHA-256, in base64url. */
const Base64UrlSchema = Type.String({ pattern: "^[A-Za-z0-9_-]{43}$" });

/** In the address with which a login begins. Nothing in it is secret. */
export const SsoWaiterSchema = Type.Object(
  {
    /** Where the program listens on its own loopback address; no port of a service. */
    port: Type.String({
      pattern: "^(?:[1-5]\\d{4}|6[0-4]\\d{3}|65[0-4]\\d\\d|655[0-2]\\d|6553[0-5])$",
    }),
    /** SHA-256 of the verifier that only the program has. */
    challenge: Base64UrlSchema,
  },
  closed,
);
export type SsoWaiter = Static<typeof SsoWaiterSchema>;

/** Uses up the code that came back to the program. Only a token is given for it. */
export const SsoCodeSchema = Type.Object(
  { code: Base64UrlSchema, verifier: Base64UrlSchema, token: WantedTokenSchema },
  closed,
);
export type SsoCode = Static<typeof SsoCodeSchema>;
