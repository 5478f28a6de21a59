/** A scenario, or a part of one, that needs something that is not built yet. */
export interface Waiting {
  readonly id: string;
  readonly part: string;
  readonly waitsFor: string;
}

/** What is not tested yet, and why. Whatever is built next takes its rows out of here. */
export const WAITING: readonly Waiting[] = [
  {
    id: 'B15',
    part: 'an empty update, and one of the whole policy at once',
    waitsFor: 'apply() and a policy file that is watched',
  },
  { id: 'B24', part: 'runtimes other than Node', waitsFor: 'a continuous integration that has them' },
];
