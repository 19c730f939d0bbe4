// Who may know whom. Each rule says what to do instead; tests/architecture plants one violation of each.
const TESTS = "(\\.test\\.ts$|/testing/)";
const LIVE = { pathNot: TESTS };

/** @type {import("dependency-cruiser").IConfiguration} */
const configuration = {
  forbidden: [
    {
      name: "no-cycles",
      comment:
        "Two modules that need each other are one module, or a third is missing between them.",
      severity: "error",
      from: {},
      to: { circular: true },
    },
    {
      name: "contract-stands-alone",
      comment:
        "The contract is what everybody shares: move what it needs into it, or what needs the other out of it.",
      severity: "error",
      from: { path: "^contract/", ...LIVE },
      to: { pathNot: ["^contract/", "node_modules/typebox/"] },
    },
    {
      name: "drivers-see-contract-and-kit-only",
      comment:
        "A driver reaches the world through the context it is lent. Add to the kit what it lacks.",
      severity: "error",
      from: { path: "^drivers/", ...LIVE },
      to: { path: "^(plane|runner|clients)/" },
    },
    {
      name: "drivers-do-not-see-each-other",
      comment: "What two drivers share belongs in drivers/kit.",
      severity: "error",
      from: { path: "^drivers/(?!kit/)([^/]+)/", ...LIVE },
      to: { path: "^drivers/(?!kit/)[^/]+/", pathNot: "^drivers/$1/" },
    },
    {
      name: "schemas-are-browser-safe",
      comment: "Clients load schemas and declarations in a browser: keep Node out of them.",
      severity: "error",
      from: {
        path: [
          "^contract/",
          "^drivers/schemas\\.ts$",
          "^drivers/[^/]+/(schema|declaration|evidence)\\.ts$",
        ],
        ...LIVE,
      },
      to: { dependencyTypes: ["core"] },
    },
    {
      name: "plane-and-runner-do-not-import-each-other",
      comment: "They are two processes that speak the runner protocol of the contract.",
      severity: "error",
      from: { path: "^plane/", ...LIVE },
      to: { path: "^runner/" },
    },
    {
      name: "runner-does-not-import-the-plane",
      comment: "They are two processes that speak the runner protocol of the contract.",
      severity: "error",
      from: { path: "^runner/", ...LIVE },
      to: { path: "^plane/" },
    },
    {
      name: "plane-runs-no-tool",
      comment: "The plane knows job types by schema and policy; runners have the drivers.",
      severity: "error",
      from: { path: "^plane/", ...LIVE },
      to: {
        path: "^drivers/",
        pathNot: "^drivers/(schemas\\.ts|kit/|[^/]+/(schema|declaration|evidence)\\.ts)",
      },
    },
    {
      name: "only-sandbox-starts-processes",
      comment:
        "Processes are started in runner/sandbox; the two starters of our own processes are named here.",
      severity: "error",
      from: {
        path: "^(contract|drivers|runner|plane|clients)/",
        pathNot: [
          TESTS,
          "^runner/sandbox/",
          "^plane/embedded-runner\\.ts$",
          "^clients/cli/personal-plane\\.ts$",
        ],
      },
      to: { path: "^(node:)?child_process$" },
    },
    {
      name: "only-store-speaks-sql",
      comment: "Ask the store's port for a use; a new question is a new file in plane/store/uses.",
      severity: "error",
      from: {
        path: "^(contract|drivers|runner|plane|clients)/",
        pathNot: [TESTS, "^plane/store/"],
      },
      to: { path: ["node_modules/kysely/", "^(node:)?sqlite$", "node_modules/pg/"] },
    },
    {
      name: "sqlite-in-its-dialect-only",
      comment: "A database driver is known in its dialect's folder only.",
      severity: "error",
      from: { path: "^plane/store/", pathNot: [TESTS, "^plane/store/dialects/sqlite/"] },
      to: { path: "^(node:)?sqlite$" },
    },
    {
      name: "pg-in-its-dialect-only",
      comment: "A database driver is known in its dialect's folder only.",
      severity: "error",
      from: { path: "^plane/store/", pathNot: [TESTS, "^plane/store/dialects/postgres/"] },
      to: { path: "node_modules/pg/" },
    },
    {
      name: "only-http-speaks-fastify",
      comment: "Domain code knows no web framework: translate in plane/http.",
      severity: "error",
      from: { path: "^plane/", pathNot: [TESTS, "^plane/http/", "^plane/idleness\\.ts$"] },
      to: { path: "node_modules/fastify/" },
    },
    {
      name: "only-telemetry-speaks-to-monitors",
      comment:
        "Tell the observer of plane/execution what happened; plane/telemetry makes metrics and traces of it.",
      severity: "error",
      from: {
        path: "^(contract|drivers|runner|plane|clients)/",
        pathNot: [TESTS, "^plane/telemetry/"],
      },
      to: { path: ["node_modules/prom-client/", "node_modules/@opentelemetry/"] },
    },
    {
      name: "decisions-know-no-machinery",
      comment:
        "The step, the result and the rules of the journal are pure: lend them what they need as arguments.",
      severity: "error",
      from: { path: "^plane/(execution/(step|result|attempt)\\.ts$|journal/)", ...LIVE },
      to: {
        pathNot: ["^contract/", "^plane/execution/(step|result|attempt)\\.ts$", "^plane/journal/"],
      },
    },
    {
      name: "adapters-meet-in-compose",
      comment: "http and store see execution and core through ports; they do not see each other.",
      severity: "error",
      from: { path: "^plane/store/", ...LIVE },
      to: { path: "^plane/(http|core|config)/" },
    },
    {
      name: "auth-stands-apart",
      comment:
        "Who somebody is follows from what they bring and a key: lend it that, and ask it through http.",
      severity: "error",
      from: { path: "^plane/auth/", ...LIVE },
      to: { path: "^plane/(http|store|core|execution|config|outbox)/" },
    },
    {
      name: "nobody-imports-compose",
      comment:
        "compose.ts knows every part; whoever imports it knows too much. Only main.ts starts it.",
      severity: "error",
      from: { path: "^plane/", pathNot: [TESTS, "^plane/main\\.ts$"] },
      to: { path: "^plane/compose\\.ts$" },
    },
    {
      name: "clients-speak-only-the-contract",
      comment: "A client has no private door: what it needs is an operation of the contract.",
      severity: "error",
      from: { path: "^clients/", ...LIVE },
      to: { path: "^(plane|runner|drivers)/", pathNot: "^drivers/schemas\\.ts$" },
    },
    {
      name: "help-loads-little",
      comment:
        "Help and mistyped words answer before anything is loaded: take types only, and numbers from declarations/bounds.ts.",
      severity: "error",
      from: { path: "^clients/cli/(main|program|exit-codes|declarations/[^/]+)\\.ts$", ...LIVE },
      to: {
        path: "^(contract|clients/sdk|drivers)/",
        dependencyTypesNot: ["type-only"],
        dynamic: false,
      },
    },
    {
      name: "source-does-not-import-tests",
      comment: "Move what both need into the source.",
      severity: "error",
      from: { path: "^(contract|drivers|runner|plane|clients)/", ...LIVE },
      to: { path: ["^tests/", TESTS] },
    },
    {
      name: "no-undeclared-dependencies",
      comment: "Name the package in the package.json of the part that needs it.",
      severity: "error",
      from: { path: "^(contract|drivers|runner|plane|clients)/", ...LIVE },
      to: { dependencyTypes: ["npm-no-pkg", "npm-unknown"] },
    },
    {
      name: "resolvable",
      comment: "The import leads nowhere.",
      severity: "error",
      from: {},
      to: { couldNotResolve: true },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    exclude: { path: "^\\.aim/" },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: "tsconfig.json" },
    enhancedResolveOptions: {
      exportsFields: ["exports"],
      conditionNames: ["import", "node", "default", "types"],
    },
  },
};

// dependency-cruiser takes a default export.
export default configuration;
