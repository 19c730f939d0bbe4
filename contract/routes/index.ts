// Every route of the plane, for servers, clients and the rights matrix.
import { CLIENT_ROUTES } from "./client-routes.ts";
import { OTHER_ROUTES } from "./other-routes.ts";

export type { Route } from "./route.ts";

export const ROUTES = { ...CLIENT_ROUTES, ...OTHER_ROUTES } as const;
export type RouteName = keyof typeof ROUTES;

/** Fills the `:name` places of a route's path. */
export function pathOf(name: RouteName, values: Readonly<Record<string, string>> = {}): string {
  return ROUTES[name].path.replaceAll(/:([a-z_0-9]+)/g, (_, key: string) =>
    encodeURIComponent(values[key] ?? ""),
  );
}
