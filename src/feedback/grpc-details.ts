/**
 * Reads the few messages of `google.rpc` that say how long to wait, or what is used up, out of their
 * binary form. What comes out has the names of their JSON form. Bytes are from outside: what is cut
 * off, wrong or endless yields what was read before it, and nothing throws.
 */

/** A status with everything that fits into a header is smaller. */
const LONGEST_BYTES = 65_536;
const MOST_FIELDS = 256;

/** The field numbers of a message; `undefined` where a field is of no use to us. */
type Shape = Readonly<Record<number, readonly [name: string, kind: Kind]>>;
type Kind = 'text' | 'number' | Shape;

const DURATION: Shape = { 1: ['seconds', 'number'], 2: ['nanos', 'number'] };
const ENTRY: Shape = { 1: ['key', 'text'], 2: ['value', 'text'] };
const VIOLATION: Shape = { 5: ['quotaId', 'text'], 7: ['quotaValue', 'number'] };
const MESSAGES: Readonly<Record<string, Shape>> = {
  'google.rpc.RetryInfo': { 1: ['retryDelay', DURATION] },
  'google.rpc.QuotaFailure': { 1: ['violations', VIOLATION] },
  'google.rpc.ErrorInfo': { 1: ['reason', 'text'], 2: ['domain', 'text'], 3: ['entries', ENTRY] },
};

type Message = Record<string, unknown>;

/** The details of a `google.rpc.Status` in bytes, as `grpc-status-details-bin` carries it; an empty list where there are none. */
export function readStatusDetails(bytes: Uint8Array): readonly Message[] {
  const details: Message[] = [];
  for (const { number, bytes: any } of fieldsOf(bytes)) {
    if (number !== 3 || any === undefined) continue;
    const [type, value] = anyOf(any);
    const detail = value === undefined ? undefined : readDetail(type, value);
    if (detail !== undefined) details.push(detail);
  }
  return details;
}

/** One detail in bytes, by the name of its type with or without a prefix; `undefined` for types that say nothing of limits. */
export function readDetail(type: string, bytes: Uint8Array): Message | undefined {
  const name = type.slice(type.lastIndexOf('/') + 1);
  const shape = Object.hasOwn(MESSAGES, name) ? MESSAGES[name] : undefined;
  if (shape === undefined) return undefined;
  const { entries, ...message } = readMessage(bytes, shape);
  const metadata = Array.isArray(entries) ? { metadata: recordOf(entries as Message[]) } : {};
  return { '@type': name, ...message, ...metadata };
}

/** Bytes from bytes, from a list that holds them first, or from base64 with or without padding. */
export function asBytes(value: unknown): Uint8Array | undefined {
  const first: unknown = Array.isArray(value) ? value[0] : value;
  if (typeof first === 'string') return fromBase64(first);
  if (!ArrayBuffer.isView(first) || first.byteLength > LONGEST_BYTES) return undefined;
  return new Uint8Array(first.buffer, first.byteOffset, first.byteLength);
}

function fromBase64(text: string): Uint8Array | undefined {
  if (text.length > LONGEST_BYTES) return undefined;
  try {
    const binary = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
    return Uint8Array.from(binary, (char) => char.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function anyOf(bytes: Uint8Array): [type: string, value: Uint8Array | undefined] {
  let type = '';
  let value: Uint8Array | undefined;
  for (const field of fieldsOf(bytes)) {
    if (field.number === 1 && field.bytes !== undefined) type = textOf(field.bytes);
    if (field.number === 2) value = field.bytes;
  }
  return [type, value];
}

/** A message by its shape; a message within that occurs several times is a list, except a duration. */
function readMessage(bytes: Uint8Array, shape: Shape): Message {
  const message: Message = {};
  for (const { number, value, bytes: inner } of fieldsOf(bytes)) {
    const [name, kind] = shape[number] ?? [];
    if (name === undefined || kind === undefined) continue;
    if (kind === 'number') message[name] = value;
    else if (inner === undefined) continue;
    else if (kind === 'text') message[name] = textOf(inner);
    else if (kind === DURATION) message[name] = readMessage(inner, kind);
    else message[name] = [...((message[name] as Message[]) ?? []), readMessage(inner, kind)];
  }
  return message;
}

function recordOf(entries: readonly Message[]): Message {
  return Object.fromEntries(entries.map(({ key, value }) => [String(key), value]));
}

interface Field {
  readonly number: number;
  readonly value?: number;
  readonly bytes?: Uint8Array;
}

/** The fields of a message in order, as far as they can be read. */
function fieldsOf(bytes: Uint8Array): Field[] {
  const fields: Field[] = [];
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; shift < 10; shift += 1) {
      const byte = bytes[at++] ?? Number.NaN;
      value += (byte & 0x7f) * 2 ** (7 * shift);
      if (Number.isNaN(byte)) return byte;
      if (byte < 0x80) return value;
    }
    return Number.NaN;
  };
  while (at < bytes.length && fields.length < MOST_FIELDS) {
    const tag = varint();
    const number = Math.floor(tag / 8);
    const wire = tag % 8;
    if (wire === 0) fields.push({ number, value: varint() });
    else if (wire === 2) {
      const length = varint();
      if (!(at + length <= bytes.length)) break;
      fields.push({ number, bytes: bytes.subarray(at, at + length) });
      at += length;
    } else if (wire === 1) at += 8;
    else if (wire === 5) at += 4;
    // A tag that is cut off, or groups, which nobody has sent for twenty years.
    else break;
  }
  return fields;
}

function textOf(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes.subarray(0, 512)) text += String.fromCharCode(byte);
  return text;
}
