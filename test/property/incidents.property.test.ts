import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { IncidentWorld } from './support/incident-world.ts';
import { plays } from './support/incidents.ts';
import { runs, SEEDED } from './support/seed.ts';

const DAY = 24 * 60 * 60_000;
const MINUTE = 60_000;

describe(`after a refusal (${SEEDED})`, () => {
  test('B52, B53, B55, B58: steps, holds and incidents are what the rules say, whatever comes in whatever order', async () => {
    const [held, steps] = [new Set<number>(), new Set<number>()];
    const property = fc.asyncProperty(plays, async (script) => {
      const world = new IncidentWorld();
      for (const play of script) {
        await world.play(play);
        expect(world.faults).toEqual([]);
        steps.add(world.rows.throttled.level);
        held.add(world.dispatcher.snapshot().downstreams[0]!.holds.length);
      }
      await world.clock.advance(100 * DAY);
      world.look();
      expect(world.faults).toEqual([]);
    });
    await fc.assert(property, runs(600));
    expect(Math.max(...steps)).toBeGreaterThan(2);
    expect(Math.max(...held)).toBeGreaterThan(1);
  });

  test('B60: everything comes back by itself, whatever has been', async () => {
    const property = fc.asyncProperty(plays, async (script) => {
      const world = new IncidentWorld();
      for (const play of script) await world.play(play);
      await world.clock.advance(100 * DAY);
      const { callDownstream, snapshot } = world.dispatcher;
      expect(snapshot().downstreams[0]).toMatchObject({ queued: 0, running: 0, holds: [], warmLeftMs: 0 });
      const [first] = snapshot().downstreams[0]!.quotas;
      expect(first).toMatchObject({ permits: first!.burst });
      const from = world.clock.now();
      const starts: number[] = [];
      for (let n = 0; n < 20; n++) void callDownstream('api', () => void starts.push(world.clock.now() - from));
      await world.clock.advance(MINUTE);
      expect(starts).toEqual(Array.from({ length: 20 }, (_, n) => n * 1_000));
      expect(snapshot().downstreams[0]).toMatchObject({ inARow: 0 });
      expect(snapshot().downstreams[0]!.incidentId).toBeUndefined();
    });
    await fc.assert(property, runs(200));
  });
});
