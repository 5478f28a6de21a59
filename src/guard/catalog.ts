import { CLIENTS, GLOBALS } from './clients.ts';
import { GLOBAL, type Origin } from './origin.ts';
import { SDKS } from './sdks.ts';
import { type Act, packageOf, type Spec } from './spec.ts';

/** What an expression is to the guard. */
export interface Known {
  readonly spec: Spec;
  /** What using it comes to; undefined for an object that only holds what sends. */
  readonly act: Act | undefined;
  /** Whether there is more in it that sends. */
  readonly isHolder: boolean;
  readonly isSdk: boolean;
  /** Whether it sends as Node's own `fetch` does, through the global dispatcher. */
  readonly usesGlobalFetch: boolean;
}

const BY_NAME = new Map<string, Spec[]>();
const FAMILIES: Spec[] = [];
for (const spec of [...CLIENTS, ...SDKS]) {
  if (spec.packages instanceof RegExp) FAMILIES.push(spec);
  else for (const name of spec.packages) BY_NAME.set(name, [...(BY_NAME.get(name) ?? []), spec]);
}
const SDK_SPECS = new Set(SDKS);

/** What a file has to mention before it is worth a parse. */
const CANDIDATE = new RegExp(
  [
    String.raw`\bfetch\b|\$fetch|XMLHttpRequest|EventSource|sendBeacon|penstock-allow`,
    `['"\`](?:npm:|node:)?(?:${[...BY_NAME.keys(), ...['@aws-sdk', '@ai-sdk']].map((name) => name.replaceAll(/[.$]/g, '\\$&')).join('|')})['"\`/@]`,
  ].join('|'),
);

/** Whether a file may hold anything to find: a cheap look at its text. */
export function isCandidate(text: string): boolean {
  return CANDIDATE.test(text);
}

/** What is known of an origin; undefined where it sends nothing. */
export function knownOf(origin: Origin): Known | undefined {
  if (origin.module === GLOBAL) return inSpec(GLOBALS, origin.path, '', true);
  const { name, inside } = packageOf(origin.module);
  for (const spec of [...(BY_NAME.get(name) ?? []), ...FAMILIES.filter((one) => matches(one, name))]) {
    const found = inSpec(spec, origin.path, name, inside === '' || ENTRY.test(inside));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Files inside a package that are the client itself, or a part of it that sends. */
const ENTRY =
  /(?:^|[-/.])(?:index|main|esm|axios|got|ky|undici|request|fetch|client|pool|stream|pipeline|connect|http|xhr|promises|unsafe)(?:\.\w+)*$/i;

function matches({ packages }: Spec, name: string): boolean {
  return packages instanceof RegExp && packages.test(name);
}

function inSpec(spec: Spec, path: readonly string[], packageName: string, isEntry: boolean): Known | undefined {
  const isSdk = SDK_SPECS.has(spec);
  const way = normal(path);
  const known = (act: Act | undefined, isHolder: boolean, name = ''): Known => {
    const usesGlobalFetch = spec.usesGlobalFetch === true || spec.viaGlobalDispatcher?.test(name) === true;
    return { spec, act, isHolder, isSdk, usesGlobalFetch };
  };
  if (way.length === 0) {
    const isHolder = !isSdk && spec !== GLOBALS;
    if (isEntry && spec.self !== undefined) return known(spec.self, isHolder);
    return isHolder ? known(undefined, true) : undefined;
  }
  for (let length = Math.min(way.length, 3); length > 0; length -= 1) {
    const name = way.slice(0, length).join('.');
    const act = memberAct(spec, name, packageName);
    if (act !== undefined) return behind(act, way.slice(length)) ? known(act, false, name) : undefined;
  }
  if (way.length > 1) return undefined;
  if (way[0] === '*') return isSdk || spec === GLOBALS ? undefined : known('request', false);
  const isHolder = Object.keys(spec.members ?? {}).some(
    (name) => name.startsWith(`${way[0]}.`) && !/\.(?:new|\(\))/.test(name),
  );
  return isHolder && spec !== GLOBALS ? known(undefined, true) : undefined;
}

function memberAct(spec: Spec, name: string, packageName: string): Act | undefined {
  const { members = {} } = spec;
  if (Object.hasOwn(members, name)) return members[name];
  return spec.memberOf?.(name, packageName);
}

/** Whether what stands behind something that sends is still a way to send: `fetch.bind`, `got.stream.get`. */
function behind(act: Act, rest: readonly string[]): boolean {
  const [next] = rest;
  if (next === undefined) return true;
  return (
    act === 'request' && rest.length === 1 && !['()', 'new', 'name', 'length', 'prototype', 'defaults'].includes(next)
  );
}

/** Without what changes nothing: `default` at the head, and plug-ins of Octokit. */
function normal(path: readonly string[]): readonly string[] {
  let way = path;
  while (way[0] === 'default') way = way.slice(1);
  return way[1] === 'plugin' && way[2] === '()' ? normal([way[0]!, ...way.slice(3)]) : way;
}
