// The one place that knows every concrete part and puts them together.
import { newId } from "./base/ids.ts";
import { createClock } from "./base/clock.ts";
import type { Settings } from "./config/settings.ts";
import { placesIn } from "./config/settings.ts";
import { createCatalog } from "./core/catalog.ts";
import { createCore, withPersonalProjects } from "./core/core.ts";
import { createCredentialDesk } from "./core/credentials.ts";
import type { CoreParts } from "./core/parts.ts";
import { CLAIM_TOPIC, Dispatcher } from "./execution/dispatcher.ts";
import { createInspections } from "./execution/inspections.ts";
import { createSignals } from "./execution/signals.ts";
import type { ClientRouteParts } from "./http/client-routes.ts";
import { createBlobs, sha256 } from "./store/blobs.ts";
import { createSharedSignals } from "./store/dialects/postgres/notices.ts";
import { openPostgresStore } from "./store/dialects/postgres/store.ts";
import { openSqliteStore } from "./store/dialects/sqlite/store.ts";

export async function compose(
  settings: Settings,
  onBroken: (error: Error) => void,
): Promise<ClientRouteParts> {
  const places = placesIn(settings.stateDir);
  const { database } = settings;
  const store =
    database === null
      ? await openSqliteStore(places.database, onBroken)
      : await openPostgresStore(database, () => undefined);
  const clock = createClock(await store.readMoment());
  const signals = database === null ? createSignals() : createSharedSignals(database);
  const inspections = createInspections(
    () => newId("ins"),
    () => signals.wake(CLAIM_TOPIC),
  );
  const credentials = createCredentialDesk(() => newId("crd"));
  const dispatcher = new Dispatcher({
    store,
    clock,
    signals,
    inspections,
    digest: sha256,
    onEnd: (attempt) => credentials.drop(attempt.id),
    ...(settings.leaseTtlMs === null ? {} : { leaseTtlMs: settings.leaseTtlMs }),
  });
  const parts: CoreParts = {
    store,
    blobs: createBlobs(places.blobs),
    clock,
    newId,
    digest: sha256,
    dispatcher,
    inspections,
    signals,
    findEntry: withPersonalProjects(createCatalog(settings.catalog), { store }),
    credentials,
    enabled: settings.enabled,
  };
  return { ...parts, core: createCore(parts) };
}
