import type { Snapshot } from '../base/snapshot.ts';
import { type Row, rowOf, type Told } from './top-row.ts';
import { clean } from './top-text.ts';

/** What is known of one address. */
export interface Answer {
  readonly url: string;
  /** The last that was read, and how many milliseconds ago. */
  readonly snapshots: readonly Snapshot[];
  readonly ageMs: number;
  /** Why there is none, or nothing newer: since so many milliseconds. */
  readonly problem?: { readonly text: string; readonly forMs: number };
}

/** All that was read, added up. */
export interface Fleet {
  readonly names: readonly string[];
  /** Hash and number of processes that run it, the most first. */
  readonly policies: readonly (readonly [hash: string, processes: number])[];
  readonly answers: readonly Answer[];
  /** Milliseconds since the oldest of what is shown was read; undefined where nothing was. */
  readonly ageMs: number | undefined;
  readonly alerts: { readonly pending: number; readonly dropped: number };
  readonly closed: number;
  readonly rows: readonly Row[];
}

export function fleetOf(answers: readonly Answer[]): Fleet {
  const all = answers.flatMap(({ snapshots, ageMs }) => snapshots.map((snapshot) => ({ snapshot, ageMs })));
  const hashes = new Map<string, number>();
  for (const { snapshot } of all) {
    const hash = clean(String(snapshot.policyHash ?? '?'));
    hashes.set(hash, (hashes.get(hash) ?? 0) + 1);
  }
  const told = new Map<string, Told[]>();
  for (const { snapshot, ageMs } of all) {
    for (const one of snapshot.downstreams) {
      const list = told.get(one.downstream) ?? [];
      list.push({ snapshot: one, at: snapshot.at, ageMs });
      told.set(one.downstream, list);
    }
  }
  const read = answers.filter(({ snapshots }) => snapshots.length > 0);
  return {
    names: [...new Set(all.flatMap(({ snapshot: { name } }) => (typeof name === 'string' ? [clean(name)] : [])))],
    policies: [...hashes].sort((a, b) => b[1] - a[1]),
    answers,
    ageMs: read.length === 0 ? undefined : Math.max(...read.map(({ ageMs }) => ageMs)),
    alerts: {
      pending: all.reduce((sum, { snapshot }) => sum + (snapshot.alerts?.pending ?? 0), 0),
      dropped: all.reduce((sum, { snapshot }) => sum + summed(snapshot.alerts?.dropped ?? {}), 0),
    },
    closed: all.filter(({ snapshot }) => snapshot.isClosed === true).length,
    rows: [...told.values()].map(rowOf),
  };
}

function summed(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}
