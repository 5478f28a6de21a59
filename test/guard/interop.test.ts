import { describe, expect, test } from 'vitest';
import { places } from './support/places.ts';

describe('what compilers and bundlers make of an import', () => {
  test.each([
    ['TypeScript, all of a module', `const http = __importStar(require("node:http"));\n«http.request({});`],
    [
      'a module that serves only',
      `const http = __importStar(require("http"));\nhttp.createServer(() => {}).listen(1);`,
    ],
    ['TypeScript, an SDK', `const openai_1 = __importDefault(require("openai"));\n«new openai_1.default({});`],
    ['an SDK that is gated', `const a = __importDefault(require("openai"));\nnew a.default({ fetch: gated });`],
    [
      'tslib',
      `const tslib_1 = require('tslib');\nconst a = tslib_1.__importDefault(require("axios"));\n«a.default.get('x');`,
    ],
    ['Babel', `var _axios = _interopRequireDefault(require("axios"));\nexports.f = () => («0, _axios.default)('x');`],
    ['swc', `const _axios = _interop_require_default._(require("axios"));\n«_axios.default.get('x');`],
    ['esbuild', `var import_axios = __toESM(require("axios"), 1);\n«import_axios.default.get('x');`],
    ['Rollup', `var a = require('axios');\nvar b = _interopDefaultLegacy(a);\n«b['default'].get('x');`],
    ['a bundle', `var https = __require("node:https");\nhttps.createServer();\n«https.get('x');`],
    [
      'import() of TypeScript',
      `const { default: a } = await Promise.resolve().then(() => __importStar(require('axios')));\n«a.get('x');`,
    ],
    ['import() that serves only', `(await Promise.resolve().then(() => require('http'))).createServer();`],
  ])('%s', (_, text) => {
    const { found, expected } = places(text, { path: 'a.js' });
    expect(found).toEqual(expected);
  });
});
