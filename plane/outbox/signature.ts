// Standard Webhooks: the secret of this installation, and the headers that prove who sent what, and when.
import { createHmac, randomBytes } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { writeDurably } from "../base/durable-file.ts";
import { StoreRefused } from "../store/refused.ts";

const PREFIX = "whsec_";
const SECRET_BYTES = 32;
const SECRET_BYTES_MIN = 24;

/** Opens the secret, making it when there is none. Throws StoreRefused for a file that is no secret. */
export function openWebhookKey(path: string): Uint8Array {
  if (!existsSync(path)) {
    const content = `${PREFIX}${randomBytes(SECRET_BYTES).toString("base64")}\n`;
    writeDurably({ path, content, mode: 0o600 });
  }
  const secret = secretOf(readFileSync(path, "utf8"));
  if (secret === null) throw new StoreRefused(`the webhook secret ${path} cannot be read`);
  return secret;
}

/** The bytes of `whsec_` and base64, or null for anything else. */
export function secretOf(text: string): Uint8Array | null {
  const found = /^whsec_([A-Za-z0-9+/]+={0,2})\n?$/.exec(text)?.[1];
  const bytes = Buffer.from(found ?? "", "base64");
  return bytes.length < SECRET_BYTES_MIN ? null : bytes;
}

export interface Signed {
  readonly id: string;
  /** Milliseconds since 1970, as the receiver's wall clock has them. */
  readonly now: number;
  readonly body: string;
}

export function webhookHeaders(secret: Uint8Array, { id, now, body }: Signed) {
  const timestamp = String(Math.floor(now / 1000));
  const mac = createHmac("sha256", secret).update(`${id}.${timestamp}.${body}`).digest("base64");
  return {
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${mac}`,
  } as const;
}
