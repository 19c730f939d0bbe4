// What may be said about a failure: a code from a closed list and a fixed sentence. Never text of the result.
import { Type, type Static } from "typebox";

/** Diagnostic hints: not a definitive cause, never a base for automatic retries or weaker checks. */
export const HINT_MESSAGES = {
  connection_refused: "The connection was refused. Check the target listener, port and firewall.",
  connection_timeout:
    "The connection timed out. Check the network path, firewall and that the host is up.",
  name_resolution_failed:
    "The name of the host could not be resolved. Check DNS and the inventory.",
  tls_verification_failed:
    "The certificate could not be verified. Check its chain, its name and the clock.",
  authentication_failed:
    "The host refused the login. Check the user, the credential and the host key.",
  permission_denied: "Access was denied. Check the rights of the connecting and the become user.",
  host_unreachable: "The host could not be reached. Its transport details are withheld.",
  task_failed: "The task failed. Its message is withheld.",
  details_withheld: "The result is marked sensitive. Its details are withheld.",
} as const;
export type HintCode = keyof typeof HINT_MESSAGES;
export const HINT_CODES = Object.keys(HINT_MESSAGES) as readonly HintCode[];

/** Narrower causes and the next step each suggests. Additive: a client may ignore them. */
export const CAUSE_ADVICE = {
  host_key_changed:
    "The host presents another key than the known one. Find out why before you accept it; do not retry.",
  host_key_unknown:
    "The host's key is not known. Verify its fingerprint and add it to known_hosts.",
  key_rejected: "The host did not accept the offered key. Check authorized_keys and the user name.",
  password_rejected: "The host did not accept the password. Check it and the user name.",
  interpreter_missing:
    "No usable Python was found on the host. Install one or set ansible_python_interpreter.",
  sftp_unavailable: "The host offers no file transfer. Enable sftp or use pipelining or scp.",
  privilege_escalation_failed:
    "Becoming another user failed. Check the become password and the sudo rules.",
  disk_full: "The host has no space left. Free some and run again.",
  package_not_found:
    "The package is not in the host's repositories. Check its name and the enabled sources.",
  undefined_variable:
    "A variable is not defined for this host. Check its spelling, group_vars and defaults.",
  template_error:
    "A template or expression could not be evaluated. Check it against the host's variables.",
  syntax_error: "A file could not be parsed. Run with --syntax-check and mend it.",
  vault_password_missing: "A vaulted value needs a vault password that was not supplied.",
  vault_decryption_failed: "A vaulted value could not be decrypted with the supplied password.",
  module_failure: "The module ended abnormally on the host. See the module's own requirements.",
  module_missing: "The module or action is not installed on the controller.",
  assertion_failed: "An assertion of the playbook did not hold.",
  command_failed: "The command ended with a status that counts as failure.",
  file_not_found: "A file or folder that the task needs does not exist.",
  timeout: "The task ran longer than it was allowed to.",
  egress_denied:
    "The sandbox may not connect there. Add the host and port to the reviewed network list.",
} as const;
export type CauseCode = keyof typeof CAUSE_ADVICE;
export const CAUSE_CODES = Object.keys(CAUSE_ADVICE) as readonly CauseCode[];

export const HintCodeSchema = Type.Enum([...HINT_CODES]);
export const CauseCodeSchema = Type.Enum([...CAUSE_CODES]);

export const HostErrorSchema = Type.Object(
  {
    code: HintCodeSchema,
    message: Type.String(),
    classification: Type.Literal("diagnostic_hint"),
    cause: Type.Optional(Type.Object({ code: CauseCodeSchema, advice: Type.String() })),
  },
  { additionalProperties: false },
);
export type HostError = Static<typeof HostErrorSchema>;

export function hostError(code: HintCode, cause: CauseCode | null): HostError {
  const error: HostError = {
    code,
    message: HINT_MESSAGES[code],
    classification: "diagnostic_hint",
  };
  return cause === null ? error : { ...error, cause: { code: cause, advice: CAUSE_ADVICE[cause] } };
}
