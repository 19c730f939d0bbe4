// The door of the contract: what plane, runners, drivers and clients agree on. Browser-safe; knows no machine.
export * from "./canonical-json.ts";
export * from "./capabilities.ts";
export * from "./errors.ts";
export * from "./events.ts";
export * from "./hints.ts";
export * from "./ids.ts";
export * from "./job-spec.ts";
export * from "./local.ts";
export * from "./operations.ts";
export * from "./outcome.ts";
export * from "./request.ts";
export * from "./routes.ts";
export * from "./runner-protocol.ts";
export * from "./states.ts";
