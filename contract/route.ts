// What a route of the plane is.
import type { Action } from "./access.ts";

export interface Route {
  readonly method: "GET" | "POST" | "PUT" | "DELETE";
  readonly path: string;
  /** `client`: the public socket. `local`: the public socket, only where it is a local one. `runner`: the runners' socket. */
  readonly face: "client" | "local" | "runner";
  /** What a principal must be allowed to do; null for a route that asks nobody. A handler may ask for more. */
  readonly action: Action | null;
  readonly does: string;
}
