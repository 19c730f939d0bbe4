// The key that this installation seals evidence with. Made at the first start, never replaced by AIM.
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  sign,
  type KeyObject,
} from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { canonicalJson, preAuthEncoding, type SealEnvelope, type SealKey } from "@aim/contract";
import { writeDurably } from "../base/durable-file.ts";
import { StoreRefused } from "../store/refused.ts";

export interface SigningKey {
  readonly public: SealKey;
  /** Base64 of the Ed25519 signature. */
  readonly sign: (bytes: Uint8Array) => string;
}

export interface SealKeyPlaces {
  readonly sealKey: string;
  readonly sealPublicKey: string;
}

/** Opens the key, making it when there is none. Throws StoreRefused for a file that is no Ed25519 key. */
export function openSealKey(places: SealKeyPlaces): SigningKey {
  if (!existsSync(places.sealKey)) {
    const { privateKey } = generateKeyPairSync("ed25519");
    const content = privateKey.export({ type: "pkcs8", format: "pem" });
    writeDurably({ path: places.sealKey, content, mode: 0o600 });
  }
  const key = readKey(places.sealKey);
  const publicKey = createPublicKey(key);
  const pem = publicKey.export({ type: "spki", format: "pem" }).toString();
  const der = publicKey.export({ type: "spki", format: "der" });
  if (textOf(places.sealPublicKey) !== pem) {
    writeDurably({ path: places.sealPublicKey, content: pem, mode: 0o644 });
  }
  return {
    public: { keyid: createHash("sha256").update(der).digest("hex"), public_key_pem: pem },
    sign: (bytes) => sign(null, bytes, key).toString("base64"),
  };
}

/** What a DSSE envelope holds beside its type: the document in canonical JSON and one signature. */
export function signed(
  payloadType: string,
  document: unknown,
  key: SigningKey,
): Pick<SealEnvelope, "payload" | "signatures"> {
  const payload = Buffer.from(canonicalJson(document));
  const sig = key.sign(preAuthEncoding(payloadType, payload));
  return {
    payload: payload.toString("base64"),
    signatures: [{ keyid: key.public.keyid, sig }],
  };
}

function readKey(path: string): KeyObject {
  try {
    const key = createPrivateKey(readFileSync(path));
    if (key.asymmetricKeyType === "ed25519") return key;
  } catch (error) {
    throw new StoreRefused(`the seal key ${path} cannot be read`, { cause: error });
  }
  throw new StoreRefused(`the seal key ${path} is no Ed25519 key`);
}

function textOf(path: string): string | null {
  return existsSync(path) ? readFileSync(path, "utf8") : null;
}
