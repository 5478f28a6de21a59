import { describe, expect, test } from 'vitest';
import { HostIndex, hostIndexOf } from '../../../src/adapters/support/hosts.ts';
import { insideOf } from '../../../src/adapters/support/inside.ts';
import { createDispatcher, type PolicyInput } from '../../../src/index.ts';

function dispatcherOf(hosts: Readonly<Record<string, readonly string[]>>) {
  const downstreams = Object.fromEntries(Object.entries(hosts).map(([name, list]) => [name, { hosts: list }]));
  return createDispatcher<PolicyInput>({ downstreams }, { alertSinks: [], env: {} });
}

function indexOf(hosts: Readonly<Record<string, readonly string[]>>) {
  const index = new HostIndex(insideOf(dispatcherOf(hosts), 'test').plans());
  return (url: string) => index.find(new URL(url));
}

describe('a host belongs to the downstream whose pattern says most', () => {
  const find = indexOf({
    exact: ['api.example.com'],
    port: ['api.example.com:8443'],
    below: ['*.example.com'],
    deeper: ['*.eu.example.com', '*.example.com:9000'],
    idn: ['bücher.example', '*.ÜBER.example.'],
    six: ['[2001:DB8::1]', '[::1]:8080'],
    four: ['127.0.0.1:8080'],
    secure: ['secure.example:443'],
  });
  test.each([
    ['https://api.example.com/v1', 'exact'],
    ['http://API.Example.COM./v1', 'exact'],
    ['http://api.example.com:80', 'exact'],
    ['http://api.example.com:443', 'exact'],
    ['https://api.example.com:8080', 'exact'],
    ['https://api.example.com:8443', 'port'],
    ['https://other.example.com', 'below'],
    ['https://example.com', undefined],
    ['https://badexample.com', undefined],
    ['https://a.b.example.com', 'below'],
    ['https://a.eu.example.com', 'deeper'],
    ['https://eu.example.com', 'below'],
    ['https://a.example.com:9000', 'deeper'],
    ['https://xn--bcher-kva.example', 'idn'],
    ['https://BÜCHER.example', 'idn'],
    ['https://x.über.example', 'idn'],
    ['http://[2001:db8:0::1]:9', 'six'],
    ['http://[::1]:8080', 'six'],
    ['http://[::1]:8081', undefined],
    ['http://127.0.0.1:8080', 'four'],
    ['http://127.1:8080', 'four'],
    ['http://127.0.0.1', undefined],
    ['https://secure.example', 'secure'],
    ['http://secure.example:8080', undefined],
  ])('%s: %s', (url, downstream) => expect(find(url)).toBe(downstream));

  test('* is every host that nobody claims', () => {
    const any = indexOf({ all: ['*'], local: ['localhost'], odd: ['*:8080'] });
    expect(['http://x.example', 'http://localhost:3', 'http://[::1]', 'http://y:8080'].map(any)).toEqual([
      'all',
      'local',
      'all',
      'odd',
    ]);
  });
});

describe('one pattern, two downstreams', () => {
  test('an error that names both, however it is written', () => {
    const inside = insideOf(dispatcherOf({ a: ['API.example.com', 'x.example'], b: ['api.example.com.'] }), 'test');
    expect(() => hostIndexOf(inside, 'createFetch')).toThrow(
      'createFetch: hosts: "api.example.com." is claimed by "a" and "b"; leave it to one of them',
    );
  });

  test('where a later policy does that, only its own host is refused', () => {
    const dispatcher = dispatcherOf({ a: ['x.example', 'y.example'] });
    const index = hostIndexOf(insideOf(dispatcher, 'test'), 'test');
    const before = index();
    expect(index()).toBe(before);
    dispatcher.register('b', { hosts: ['x.example'] });
    expect(() => index().find(new URL('http://x.example'))).toThrow('"a" and "b"');
    expect(index().find(new URL('http://y.example'))).toBe('a');
  });
});

describe('a policy says what a host may look like', () => {
  test.each(['*', '*:81', 'a', 'a_b.example', '*.a.example:1', '[::1]', '1.2.3.4:65535', 'münchen.example'])(
    '%s',
    (host) => expect(() => dispatcherOf({ a: [host] })).not.toThrow(),
  );
  test.each([
    ['https://api.example.com/v1', 'write api.example.com'],
    ['api.example.com/v1', 'write api.example.com'],
    ['user:secret@api.example.com', 'write api.example.com'],
    ['https://api.example.com:8443', 'write api.example.com:8443'],
    ['::1', 'found'],
    ['a.*.example', 'found'],
    ['*example.com', 'found'],
    ['a:70000', 'found'],
    ['a b', 'found'],
    ['', 'found'],
  ])('%s', (host, hint) => {
    expect(() => dispatcherOf({ a: [host] })).toThrow(
      /downstreams\.a\.hosts\[0\]: expected a host name without scheme/,
    );
    expect(() => dispatcherOf({ a: [host] })).toThrow(hint);
  });
});
