// The one place that knows every concrete part and puts them together.
import type { Logger } from "pino";
import { createPasswords } from "./auth/passwords.ts";
import { openTokenKey } from "./auth/token-key.ts";
import { createRunnerTokens, type RunnerTokens } from "./auth/tokens.ts";
import { keysIn } from "./backup/commands.ts";
import { newId } from "./base/ids.ts";
import { createClock, wallNow } from "./base/clock.ts";
import type { Settings } from "./config/settings.ts";
import { placesIn } from "./config/settings.ts";
import { createAudit } from "./core/audit.ts";
import { approvalFinder, createCatalog } from "./core/catalog.ts";
import { createCore, withPersonalProjects } from "./core/core.ts";
import { createCredentialDesk } from "./core/credentials.ts";
import { createLogins } from "./core/logins.ts";
import type { CoreParts } from "./core/parts.ts";
import { mayStillRead } from "./core/rights.ts";
import { openSealKey, type SigningKey } from "./core/seal-key.ts";
import { createSealer, type Sealer } from "./core/seal.ts";
import { createSso, type Sso } from "./core/sso.ts";
import type { Attempt } from "./execution/attempt.ts";
import { CLAIM_TOPIC, Dispatcher, OUTBOX_TOPIC, RUNNER_SILENT_MS } from "./execution/dispatcher.ts";
import { createInspections } from "./execution/inspections.ts";
import { observers, type Observer } from "./execution/observer.ts";
import { createSignals } from "./execution/signals.ts";
import type { BackupRouteParts } from "./http/backup-route.ts";
import type { ClientRouteParts } from "./http/client-routes.ts";
import { createLimits } from "./http/limits.ts";
import type { LoginRouteParts } from "./http/login-routes.ts";
import type { SsoRouteParts } from "./http/sso-routes.ts";
import { createTokenGuard, type RunnerGuard } from "./http/runner-guard.ts";
import { createJournalFeeds } from "./http/journal-feed.ts";
import type { JournalRouteParts } from "./http/journal-routes.ts";
import { createJournalWatch } from "./http/journal-watch.ts";
import { createJournalStreams, type JournalStreams } from "./http/journal-stream.ts";
import type { RunnerRouteParts } from "./http/runner-routes.ts";
import { resolveHere } from "./outbox/address.ts";
import { createDeliver } from "./outbox/deliver.ts";
import { createOutbox, type Outbox } from "./outbox/outbox.ts";
import { openWebhookKey } from "./outbox/signature.ts";
import { createBlobs, sha256 } from "./store/blobs.ts";
import { createDrafts, type Drafts } from "./store/drafts.ts";
import { createSharedSignals } from "./store/dialects/postgres/notices.ts";
import { openPostgresStore } from "./store/dialects/postgres/store.ts";
import { openSqliteStore } from "./store/dialects/sqlite/store.ts";
import type { Store } from "./store/store.ts";
import { StoreRefused } from "./store/refused.ts";
import { createMetrics, type Metrics } from "./telemetry/metrics.ts";
import type { Traces } from "./telemetry/traces.ts";

export interface Composed
  extends
    ClientRouteParts,
    RunnerRouteParts,
    LoginRouteParts,
    SsoRouteParts,
    JournalRouteParts,
    BackupRouteParts {
  readonly outbox: Outbox;
  /** Null where no traces are sent. */
  readonly traces: Traces | null;
  /** Lets runners of other machines in; null where none are served. */
  readonly guard: RunnerGuard | null;
}

export async function compose(
  settings: Settings,
  onBroken: (error: Error) => void,
  log: Logger,
): Promise<Composed> {
  const places = placesIn(settings.stateDir);
  const { database } = settings;
  const key = openSealKey(places);
  const store = await openStore(settings, onBroken);
  const clock = createClock(await store.readMoment());
  const signals = database === null ? createSignals() : createSharedSignals(database);
  const inspections = createInspections(
    () => newId("ins"),
    () => signals.wake(CLAIM_TOPIC),
  );
  const credentials = createCredentialDesk(() => newId("crd"));
  const blobs = createBlobs(places.blobs);
  const drafts = createDrafts(blobs);
  const sealer = composeSealer({ store, clock, key }, log);
  const telemetry = await composeTelemetry(settings, { store, clock }, log);
  const { metrics, observer } = telemetry;
  const dispatcher = new Dispatcher({
    store,
    clock,
    signals,
    inspections,
    digest: sha256,
    sizeOf: blobs.sizeOf,
    observer,
    journalLimits: settings.journal,
    silentCancel: settings.silentCancel,
    onEnd: afterEnd({ credentials, sealer, drafts }, log),
    ...(settings.leaseTtlMs === null ? {} : { leaseTtlMs: settings.leaseTtlMs }),
  });
  const outbox = composeOutbox(settings, { store, clock, signals }, log);
  const parts: CoreParts = {
    store,
    blobs,
    clock,
    newId,
    digest: sha256,
    dispatcher,
    inspections,
    signals,
    findEntry: withPersonalProjects(createCatalog(settings.catalog), { store }),
    credentials,
    sealer,
    observer,
    audit: createAudit({ store, clock, key }),
    ...permissions(settings, store),
  };
  return {
    ...parts,
    core: createCore(parts),
    outbox,
    metrics,
    traces: telemetry.traces,
    drafts,
    ...composeAccess(parts),
    sso: await composeSso(settings, parts, log),
    journalStreams: composeJournalStreams(parts),
    keys: keysIn(settings.stateDir),
    guard: composeGuard(settings, parts),
  };
}

interface Ending {
  readonly credentials: CoreParts["credentials"];
  readonly sealer: CoreParts["sealer"];
  readonly drafts: Drafts;
}

function afterEnd({ credentials, sealer, drafts }: Ending, log: Logger) {
  return ({ id, manifestDigest }: Attempt): void => {
    credentials.drop(id);
    if (manifestDigest !== null) sealer.ended(id);
    drafts
      .drop(id)
      .catch((error: unknown) =>
        log.error({ err: error, code: "draft_left" }, "a draft goes at the next start"),
      );
  };
}

function permissions(
  { catalog, enabled }: Settings,
  store: Pick<CoreParts["store"], "readExecution">,
): Pick<CoreParts, "asksApproval" | "mayExecute"> {
  return {
    mayExecute: async () => enabled && (await store.readExecution()),
    asksApproval: approvalFinder(catalog),
  };
}

function composeAccess(parts: CoreParts): LoginRouteParts {
  return {
    logins: createLogins({ ...parts, passwords: createPasswords() }),
    limits: createLimits(parts.clock.now),
  };
}

async function composeSso({ oidc }: Settings, parts: CoreParts, log: Logger): Promise<Sso | null> {
  if (oidc === null) return null;
  // Whoever names no identity provider does not load what speaks to one.
  const { createIdentityProvider } = await import("./auth/oidc/provider.ts");
  const { backchannelLogout, provider, roles } = oidc;
  return createSso({
    ...parts,
    roles,
    backchannelLogout,
    provider: createIdentityProvider(provider, {
      now: parts.clock.now,
      tell: (trouble) => log.warn(trouble, "the identity provider and this plane do not agree"),
    }),
  });
}

function openStore(
  { database, migrate, stateDir }: Settings,
  onBroken: (error: Error) => void,
): Promise<Store> {
  return database === null
    ? openSqliteStore(placesIn(stateDir).database, onBroken, { migrate })
    : openPostgresStore(database, () => undefined, { migrate });
}

function composeJournalStreams({ signals, store }: CoreParts): JournalStreams {
  const readEpoch = () => store.readRightsEpoch();
  return createJournalStreams({
    feeds: createJournalFeeds(store, signals),
    watch: createJournalWatch({ signals, store, readEpoch }),
    readEpoch,
    stillMay: mayStillRead(store),
  });
}

interface Telemetry {
  readonly metrics: Metrics;
  readonly observer: Observer;
  readonly traces: Traces | null;
}

async function composeTelemetry(
  { otlpEndpoint }: Settings,
  { store, clock }: Pick<CoreParts, "store" | "clock">,
  log: Logger,
): Promise<Telemetry> {
  const metrics = createMetrics({
    now: clock.now,
    read: () => store.readGauges({ heardSince: clock.now() - RUNNER_SILENT_MS }),
  });
  // Whoever sends no traces does not load what makes them.
  const traces =
    otlpEndpoint === null
      ? null
      : (await import("./telemetry/traces.ts")).createTraces(otlpEndpoint);
  const watching = traces === null ? [metrics.observer] : [metrics.observer, traces.observer];
  const observer = observers(watching, (error) =>
    log.error({ err: error, code: "telemetry_failed" }, "something was not observed"),
  );
  return { metrics, observer, traces };
}

function composeSealer(
  lent: Pick<CoreParts, "store" | "clock"> & { readonly key: SigningKey },
  log: Logger,
): Sealer {
  return createSealer({
    ...lent,
    digest: sha256,
    onDelay: (error) => log.error({ err: error, code: "seal_delayed" }, "a seal is made later"),
  });
}

function composeGuard(settings: Settings, parts: CoreParts): RunnerGuard | null {
  if (settings.runnerListen === null) return null;
  const { store, clock } = parts;
  return createTokenGuard({
    tokens: openRunnerTokens(settings.stateDir, clock.now),
    holderOf: async (attemptId) => (await store.readAttempt({ attemptId }))?.attempt.runner ?? null,
    nameOf: async (id) => (await store.touchRunner({ id, now: clock.now() }))?.name ?? null,
  });
}

/** Makes and reads runners' tokens, also for a process that opens nothing else. Throws StoreRefused. */
export function openRunnerTokens(stateDir: string, now: () => number): RunnerTokens {
  const path = placesIn(stateDir).runnerTokenKey;
  try {
    return createRunnerTokens(openTokenKey(path), now);
  } catch (error) {
    throw new StoreRefused(`the key of runners' tokens ${path} cannot be used`, { cause: error });
  }
}

function composeOutbox(
  settings: Settings,
  lent: Pick<CoreParts, "store" | "clock" | "signals">,
  log: Logger,
): Outbox {
  return createOutbox({
    ...lent,
    topic: OUTBOX_TOPIC,
    deliver: createDeliver({
      secret: openWebhookKey(placesIn(settings.stateDir).webhookKey),
      resolve: resolveHere,
      wall: wallNow,
      allowLoopback: settings.allowCallbackLoopback,
    }),
    chance: Math.random,
    claimedBy: newId("pln"),
    onFailed: ({ eventId, callbackIndex, tries }, tried, dead) =>
      log.warn(
        {
          code: dead ? "callback_dead" : "callback_failed",
          eventId,
          callbackIndex,
          tries,
          ...tried,
        },
        dead ? "a callback is given up" : "a callback is tried again later",
      ),
  });
}
