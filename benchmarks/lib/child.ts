/** One measurement in one process: `node child.js <row> <variant> [quick]` prints it as JSON. */
import { ROWS } from '../rows/index.ts';

const [rowId, variantName, pace] = process.argv.slice(2);
const variant = ROWS.find(({ id }) => id === rowId)?.variants.find(({ name }) => name === variantName);
if (variant === undefined) throw new Error(`no variant ${variantName} in row ${rowId}`);
const sample = await variant.run(pace === 'quick');
process.stdout.write(`${JSON.stringify(sample)}\n`, () => process.exit());
