#!/usr/bin/env node
// aimctl: the command line of AIM. It speaks only the contract and holds no state of its own.
import { runProgram } from "./program.ts";

// A reader such as `head` may leave early; that is no fault of the command.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
});

process.exitCode = await runProgram(process.argv.slice(2));
