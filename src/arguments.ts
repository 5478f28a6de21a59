import { InvalidCall, PolicyError, type PolicyProblem } from './base/errors.ts';
import { nearest } from './base/nearest.ts';
import { show } from './base/text.ts';
import type { DispatcherOptions } from './contract.ts';

/** A name for messages and events, whatever was given as one. */
export function plainName(name: unknown): string {
  return typeof name === 'string' ? name : show(name);
}

const OPTIONS: readonly (keyof DispatcherOptions)[] = [
  'name',
  'clock',
  'onAlert',
  'alertSinks',
  'classify',
  'engines',
  'env',
  'random',
  'telemetry',
];

/** What the compiler tells those who have one. */
export function checkPolicy(policy: unknown, where: string): void {
  const problems = policyProblems(policy);
  if (problems.length > 0) throw new PolicyError(problems, where);
}

function policyProblems(policy: unknown): PolicyProblem[] {
  const problems: PolicyProblem[] = [];
  if (policy instanceof Promise) {
    problems.push({ path: 'policy', message: 'expected a policy, found a promise; write await loadPolicy(...)' });
  }
  if (typeof policy === 'string') {
    problems.push({
      path: 'policy',
      message: `expected a policy, found a text; a path? write await loadPolicy(${show(policy)})`,
    });
  }
  return problems;
}

/** What the compiler tells those who have one. */
export function checkArguments(policy: unknown, options: DispatcherOptions): void {
  const problems = policyProblems(policy);
  for (const key of Object.keys(options)) {
    if (OPTIONS.includes(key as keyof DispatcherOptions)) continue;
    const near = nearest(key, OPTIONS);
    const hint = near === undefined ? `known are ${OPTIONS.join(', ')}` : `did you mean ${near}?`;
    problems.push({ path: `options.${key}`, message: `unknown option; ${hint}` });
  }
  for (const [i, sink] of (options.alertSinks ?? []).entries()) {
    if (typeof sink?.name === 'string' && typeof sink?.deliver === 'function') continue;
    problems.push({ path: `options.alertSinks[${i}]`, message: 'expected { name, deliver(alert, signal) }' });
  }
  if (problems.length > 0) throw new PolicyError(problems, 'createDispatcher');
}

/** Checks what `callDownstream` is given to run. */
export function checkFunction(fn: unknown, downstream: string): void {
  if (typeof fn === 'function') return;
  const name = plainName(downstream);
  throw new InvalidCall(`${name}: fn: expected a function, found ${show(fn)}`, { downstream: name });
}

/** The downstream that `setMode` means; undefined for all. A word that is not read must not mean all of them. */
export function readModeOptions(options: unknown): string | undefined {
  if (options === undefined) return undefined;
  const isObject = typeof options === 'object' && options !== null && !Array.isArray(options);
  const keys = isObject ? Object.keys(options) : [];
  const downstream = isObject ? (options as { readonly downstream?: unknown }).downstream : options;
  const isSound = isObject && keys.every((key) => key === 'downstream');
  if (isSound && (downstream === undefined || typeof downstream === 'string')) return downstream;
  const example = typeof downstream === 'string' ? downstream : 'carrier';
  throw new InvalidCall(`setMode: expected { downstream: '${example}' } or nothing, found ${show(options)}`, {
    downstream: 'setMode',
  });
}
