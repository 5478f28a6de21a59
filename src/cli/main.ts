#!/usr/bin/env node
import { run } from './run.ts';

// `penstock check | head` closes the pipe early: no reason for a stack trace.
process.stdout.on('error', () => process.exit(0));

process.exitCode = await run(process.argv.slice(2), {
  env: process.env,
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
  terminal: { input: process.stdin, output: process.stdout },
});
