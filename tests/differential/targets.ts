// Integration targets of ansible-core 2.19.11 that need nothing but a local connection; the slow ones first.
export const LIMIT_SECONDS = 240;

const LONG = process.env["AIM_TEST_LONG"] === "1";
/** A third of the time of all others: for the long run only. */
const SLOWEST = ["include_import", "includes_race", "until"];

export const TARGETS: readonly string[] = [
  ...(LONG ? SLOWEST : []),
  "meta_tasks",
  "roles",
  "order",
  "playbook",
  "any_errors_fatal",
  "ignore_unreachable",
  "environment",
  "roles_arg_spec",
  "strategy_linear",
  "strategy_host_pinned",
  "debug",
  "check_mode",
  "task_ordering",
  "includes",
  "ignore_errors",
  "include_vars",
  "group_by",
  "failed_when",
  "changed_when",
  "assert",
  "add_host",
  "include_import_tasks_nested",
  "loop_control",
  "callback_results",
  "special_vars_hosts",
  "undefined",
  "unexpected_executor_exception",
  "set_stats",
  "strategy_free",
  "register",
  "import_tasks",
  "tasks",
  "vars_files",
  "loop-connection",
  "play_iterator",
  "include_when_parent_is_dynamic",
  "include_when_parent_is_static",
  "lookup_dict",
  "tempfile",
];
