import {
  type Effect,
  INCIDENT_RULES,
  type IncidentRule,
  ROW_STATES,
  type RowEvent,
} from '../src/model/incident-rules.ts';

/** What each effect does, as the page says it. */
const EFFECTS: Readonly<Record<Effect, string>> = {
  open: 'a new incident, one more in a row',
  hold: 'held: the hint, the cooldown, or the larger of the two',
  extend: 'the same incident; held longer if the hint says so',
  clear: 'the row is over',
  release: 'the hold is dropped',
};

const HINTS: Readonly<Record<string, string>> = { none: 'none', now: '0', later: 'above 0' };

/** One row of the table: from, what comes, of a call from, with a hint, what the lane does, to. */
export type IncidentLine = readonly [string, string, string, string, string, string];

/** The state table as the page shows it: one row for each line of the rules. */
export function incidentLines(): IncidentLine[] {
  return INCIDENT_RULES.map((rule) => {
    const parts = rule.on.map((event) => event.split(' '));
    const [what = ''] = parts[0] ?? [];
    const isAnswer = what === 'refused' || what === 'success';
    const column = (at: number) => [...new Set(parts.map((part) => part[at] ?? ''))];
    const origins = isAnswer ? column(1).join(', ') : '';
    const hints = what === 'refused' ? column(2).map((hint) => HINTS[hint] ?? hint) : [];
    const from = rule.from.length === ROW_STATES.length ? 'any' : rule.from.join(', ');
    const comes = isAnswer ? what : rule.on.map(named).join(', ');
    const to = rule.to === 'same' ? 'as it was' : rule.to;
    return [from, comes, origins, hints.join(', '), done(rule, what), to];
  });
}

function named(event: RowEvent): string {
  return event === 'other' ? 'any other outcome' : event;
}

function done({ does }: IncidentRule, what: string): string {
  if (does.length === 0) return what === 'refused' ? 'the same incident; an alert, and nothing else' : 'nothing';
  return does.map((effect) => EFFECTS[effect]).join('; ');
}
