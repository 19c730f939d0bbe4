// Holds a caller's credentials between their arrival and the runner's one request for them. Memory only.
import { AimError, type Credentials } from "@aim/contract";

const KEEP_MS = 120_000;

export interface CredentialDesk {
  /** Takes credentials in; answers the id that execute names. Dropped unread after two minutes. */
  readonly put: (credentials: Credentials) => string;
  /** Gives an execute its credentials for the attempt. Throws credential_missing or credential_unknown. */
  readonly assign: (id: string | undefined, attemptId: string, slots: readonly string[]) => void;
  /** Hands them to the runner, once. */
  readonly take: (attemptId: string) => Credentials;
  /** Forgets what an ended attempt left. */
  readonly drop: (attemptId: string) => void;
}

export function createCredentialDesk(newId: () => string): CredentialDesk {
  const arrived = new Map<string, Credentials>();
  const assigned = new Map<string, Credentials>();

  function put(credentials: Credentials): string {
    const id = newId();
    arrived.set(id, credentials);
    setTimeout(() => arrived.delete(id), KEEP_MS).unref();
    return id;
  }

  function assign(id: string | undefined, attemptId: string, slots: readonly string[]): void {
    const credentials = id === undefined ? {} : arrived.get(id);
    if (credentials === undefined) throw new AimError("credential_missing", "/credentials_id");
    for (const slot of Object.keys(credentials)) {
      if (!slots.includes(slot)) throw new AimError("credential_unknown", slot);
    }
    for (const slot of slots) {
      // A key may be one without a passphrase.
      const optional = slot === "ssh_key_passphrase";
      if (!optional && !Object.hasOwn(credentials, slot))
        throw new AimError("credential_missing", slot);
    }
    if (id !== undefined) arrived.delete(id);
    assigned.set(attemptId, credentials);
  }

  function take(attemptId: string): Credentials {
    const credentials = assigned.get(attemptId) ?? {};
    assigned.delete(attemptId);
    return credentials;
  }

  return { put, assign, take, drop: (attemptId) => assigned.delete(attemptId) };
}
