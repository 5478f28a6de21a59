import { describe, expect, test } from 'vitest';
import { places } from './support/places.ts';

const check = (text: string, path = 'a.ts') => {
  const { found, expected, report } = places(text, { path });
  expect(report.problem).toBeUndefined();
  expect(found).toEqual(expected);
};

describe('a client, however it came in', () => {
  test.each([
    ['default', "import axios from 'axios'; «axios(u); «axios.get(u); «axios.request<T>({ url: u });"],
    ['named', "import { request as send, Agent } from 'undici'; «send(u); new Agent();"],
    ['named default', "import { default as got } from 'got'; «got(u); «got.post(u); «got.stream(u);"],
    ['namespace', "import * as https from 'node:https'; «https.get(u); «https.request(u); https.createServer();"],
    ['namespace with its default', "import * as ns from 'axios'; «ns.default.get(u);"],
    ['beside types', "import fetch, { type Response, Headers } from 'node-fetch'; «fetch(u); new Headers();"],
    ['require', "const axios = require('axios'); «axios.get(u);"],
    ['require, taken apart', "const { get, createServer } = require('http'); «get(u); createServer();"],
    ['require, one of it', "const get = require('https').get; «get(u);"],
    ['require, used at once', "«require('superagent').get(u); «require('node-fetch')(u);"],
    ['require in a function', "function f() { const needle = require('needle'); «needle('get', u); }"],
    ['import = require', "import request = require('request'); «request(u); «request.post(u);"],
    ['import()', "const { default: got } = await import('got'); «got(u);"],
    ['import(), used at once', "«(await import('axios')).default.get(u);"],
    ['import(), then', "import('ky').then(({ default: ky }) => «ky.get(u)); import('got').then((m) => «m.got(u));"],
    ['import(), then one of it', "const got = await import('got').then((m) => m.default); «got(u);"],
    ['import(), loaded when needed', "let got; got ??= (await import('got')).default; «got(u);"],
    [
      'the name of a function',
      "const fetch = (...args) => import('node-fetch').then(({ default: fetch }) => «fetch(...args)); fetch(u);",
    ],
    [
      'createRequire',
      "import { createRequire } from 'node:module'; const r = createRequire(import.meta.url); const g = r('got'); «g(u);",
    ],
    [
      'createRequire by its module',
      "import m from 'module'; const require = m.createRequire(a); const g = require('got'); «g(u);",
    ],
    ['getBuiltinModule', "const http = process.getBuiltinModule('node:http'); «http.get(u);"],
    ['a name in a constant', "const name = 'axios'; const a = require(name); «a(u);"],
    ['a template', 'const a = require(`axios`); «a(u);'],
    ['a file inside', "import { request } from 'undici/lib/api/api-request.js'; «request(u);"],
    ['a file inside that is the client', "import axios from 'axios/dist/node/axios.cjs'; «axios(u);"],
    ['with a version', "import axios from 'npm:axios@1.7.0'; «axios.get(u);"],
    [
      'one of two',
      "import http from 'http'; import https from 'https'; const lib = a ? https : http; «lib.request(u);",
    ],
    ['one of two at once', "import http from 'http'; import https from 'https'; «(a ? https : http).get(u);"],
    ['another name', "import axios from 'axios'; const a: AxiosStatic = axios; «a.get(u);"],
    [
      'a method found at run time',
      "import axios from 'axios'; «axios[method](u); «axios[method.toLowerCase() as Verb](u);",
    ],
    ['a method of another name', "import http from 'http'; const send = «http.request; send(u);"],
    ['methods taken apart, once each', "import axios from 'axios'; const { «get, «post } = axios; get(u); get(u);"],
    [
      'handed on',
      "import axios from 'axios'; wrapper(«axios); const o = { client: «axios }; const p = promisify(«axios.get);",
    ],
    ['handed on whole', "import * as undici from 'undici'; setClient(«undici);"],
    ['handed on when loaded', "const all = await Promise.all([«import('got'), other]); lazy(() => «import('ky'));"],
  ])('%s', (_, text) => check(text));
});

describe('a client that leaves the file', () => {
  test.each([
    ["export { «default } from 'axios';"],
    ["export { «request, Agent } from 'undici'; export { «request as send } from 'undici';"],
    ["«export * from 'got';"],
    ["export «* as http from 'node:http';"],
    ["import axios from 'axios'; export { «axios };"],
    ["import axios from 'axios'; export default «axios;"],
    ["import axios from 'axios'; export const client = «axios;"],
    ["export const fetch = «require('node-fetch'); fetch(u);"],
    ["module.exports = «require('axios');"],
    ["«export import axios = require('axios');"],
    ["import axios = require('axios'); export = «axios;"],
    ["export { «OpenAI } from 'openai';"],
    ["import OpenAI from 'openai'; export { «OpenAI as Client };"],
    ["import axios from 'axios'; export const { «get } = axios;"],
    [
      "export type { AxiosInstance } from 'axios'; export { type Got, HTTPError } from 'got'; export { AxiosError } from 'axios';",
    ],
  ])('%s', (text) => check(text));
});

describe('clients that are made: once, where they are made', () => {
  test.each([
    ["import axios from 'axios'; const api = «axios.create({ baseURL }); api.get(u); api.post(u);"],
    ["import axios from 'axios'; export const api = «axios.create();"],
    ["import axios, { Axios } from 'axios'; new «Axios();".replace('new «', '«new ')],
    ["import got from 'got'; const api = «got.extend({ prefixUrl }); api(u);"],
    ["import ky from 'ky'; const api = «ky.create({ prefixUrl }); api.get(u); «ky.extend({})"],
    ["import { ofetch } from 'ofetch'; «ofetch(u); «ofetch.create({});"],
    ["import http2 from 'node:http2'; const session = «http2.connect(u); session.request({});"],
    ["import { Client, Pool } from 'undici'; const a = «new Client(u); a.request({}); this.pool = «new Pool(u);"],
    [
      "import { Agent, getGlobalDispatcher } from 'undici'; const a = new Agent(); «a.request({}); «getGlobalDispatcher().request({});",
    ],
    ["import wretch from 'wretch'; const api = «wretch(u); api.get();"],
  ])('%s', (text) => check(text));

  test('with something to send with of their own they are none', () => {
    check("import ky from 'ky'; const api = ky.create({ fetch: gated }); api.get(u); ky.get(u, { fetch: gated });");
    check("import axios from 'axios'; axios.create({ adapter }); axios.create({ env: { fetch: gated } });");
    check("import { request } from 'undici'; request(u, { dispatcher: gated }); fetch(u, { dispatcher: this.gated });");
  });

  test('with what sends by itself they are one', () => {
    check("import ky from 'ky'; ky.create({ «fetch });");
    check("import { Agent } from 'undici'; const agent = new Agent({}); «fetch(u, { dispatcher: agent });");
    check("import ky from 'ky'; «ky.create({ fetch: undefined });");
  });

  test('undici composed with the gate', () => {
    check(
      "import { Agent, setGlobalDispatcher } from 'undici'; setGlobalDispatcher(new Agent().compose(gate(dispatcher)));",
    );
    check(
      "import { Agent, setGlobalDispatcher } from 'undici'; const a = new Agent(); setGlobalDispatcher(a.compose(gate(d)));",
    );
    check("import { Pool } from 'undici'; const p = new Pool(u); export const gated = p.compose(gate(d)); p.close();");
    check("import { Pool, interceptors } from 'undici'; const p = «new Pool(u).compose(interceptors.retry());");
    check("import { Pool } from 'undici'; const p = «new Pool(u); p.request({}); p.compose(gate(d));");
  });
});

describe('what comes with a client and sends nothing', () => {
  test.each([
    [
      "import axios, { isAxiosError, AxiosError, AxiosHeaders } from 'axios'; isAxiosError(e); e instanceof AxiosError;",
    ],
    [
      "import axios from 'axios'; axios.isAxiosError(e); axios.defaults.timeout = 1; axios.interceptors.request.use(f);",
    ],
    ["import axios from 'axios'; axios.defaults.headers.common['a'] = 1; type A = typeof axios;"],
    ["import type axios from 'axios'; import { type AxiosInstance } from 'axios'; let a: AxiosInstance;"],
    ["import type { Got } from 'got'; import { HTTPError, RequestError } from 'got'; e instanceof HTTPError;"],
    ["import http from 'node:http'; http.createServer(); new http.Agent(); http.STATUS_CODES[1]; http.globalAgent;"],
    ["import { createServer, Agent, type IncomingMessage } from 'node:http'; createServer(new Agent());"],
    ["import net from 'node:net'; net.connect(1); import tls from 'tls'; tls.connect(1); new WebSocket(u);"],
    ["import { FormData, Headers, Response, Agent, ProxyAgent } from 'undici'; new FormData(); new ProxyAgent(u);"],
    [
      "import * as http2 from 'http2'; let f; (f = http2.getDefaultSettings) === null || f === void 0 ? void 0 : f.call(http2);",
    ],
    ["import 'axios'; import('got'); require('undici'); await import('node:https');"],
    ["import fetch, { Headers, Response, FetchError } from 'node-fetch'; new Headers(); e instanceof FetchError;"],
    [
      "import { get } from './http.ts'; get(u); import { request } from 'my-http'; request(u); import got from '~/got'; got(u);",
    ],
    ["import { get } from 'lodash'; get(o, 'a'); import { request } from '@playwright/test'; request(u);"],
    ['function f(axios) { axios.get(u); } function g({ request, http }) { request(u); http.get(u); }'],
    ['const axios = { get() {} }; axios.get(u); http.get(u); got(u); this.http.get(u); request.get(u);'],
    ["import axios from 'axios'; { const axios = fake; axios.get(u); }"],
    ["import { http } from 'msw'; http.get(u); import { HttpClient } from '@angular/common/http'; new HttpClient();"],
    ["import { fetch } from '@tauri-apps/plugin-http'; fetch(u);"],
  ])('%s', (text) => check(text));
});
