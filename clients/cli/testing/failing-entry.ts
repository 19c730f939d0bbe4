// Stands for a plane's entry that cannot start.
process.stderr.write(
  `${JSON.stringify({ level: 50, code: "state_in_use", msg: "not to be shown" })}\n`,
);
process.exitCode = 1;
