/** An answer that repeats this much of the beginning of a secret shows what it should not, wherever it was cut. */
const SHORTEST_BEGINNING = 8;
/** Shorter parts are words of everybody's. */
const SHORTEST_SECRET = 4;
const SHORTEST_PART = 6;
/** What stands before a credential in a header, and is none. */
const SCHEME = /^(?:basic|bearer|token|digest|apikey|key)$/i;

/** `text` without the secrets, in whatever spelling an answer may repeat them, whole or cut off. */
export function masked(text: string, secrets: readonly string[], url: string): string {
  const credentials = new Set(secrets.flatMap(partsOfValue));
  const places = partsOfUrl(url);
  // The longest first, or what is left of it after a shorter one was taken out would be shown.
  const all = [...credentials, ...places].flatMap(spellings).filter((each) => each.length >= SHORTEST_SECRET);
  let shown = text;
  for (const each of [...new Set(all)].sort((a, b) => b.length - a.length)) shown = without(shown, each, each.length);
  for (const each of credentials) {
    if (each.length > SHORTEST_BEGINNING && !/\s/.test(each)) shown = without(shown, each, SHORTEST_BEGINNING);
  }
  return shown;
}

/** Takes out what agrees with `secret` in its first `least` characters, as far as it does; capitals count for nothing. */
function without(text: string, secret: string, least: number): string {
  const lower = text.toLowerCase();
  // What grows or shrinks in lower case would shift every place behind it.
  const hay = lower.length === text.length ? lower : text;
  const needle = hay === text ? secret : secret.toLowerCase();
  let out = '';
  let from = 0;
  for (;;) {
    const at = hay.indexOf(needle.slice(0, least), from);
    if (at === -1) return out + text.slice(from);
    let length = least;
    while (length < needle.length && hay[at + length] === needle[length]) length += 1;
    out += `${text.slice(from, at)}***`;
    from = at + length;
  }
}

/** A header's value, its credential without the scheme, and what is written in base64 there: `joe:password`. */
function partsOfValue(value: string): string[] {
  const words = value.split(/\s+/).filter((word) => !SCHEME.test(word) && word.length >= SHORTEST_SECRET);
  return [value, ...words, ...words.flatMap(decodedPair)];
}

function decodedPair(base64: string): string[] {
  try {
    const text = new TextDecoder().decode(Uint8Array.from(atob(base64), (char) => char.charCodeAt(0)));
    const colon = text.indexOf(':');
    return colon < 0 || /\p{Cc}|\ufffd/u.test(text) ? [] : [text, text.slice(colon + 1)];
  } catch {
    return [];
  }
}

/** An address, its path and the longer parts of it: "Cannot POST /services/T0/B0/..." is a usual answer. */
function partsOfUrl(url: string): string[] {
  const { pathname, search, href } = new URL(url);
  const parts = `${pathname}${search}`.split(/[/?&=]/).filter((part) => part.length >= SHORTEST_PART);
  return [url, href, `${pathname}${search}`, pathname, ...parts, ...parts.map(decoded)];
}

/** Without its percent signs, where they mean anything. */
export function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** As JSON, an address and HTML write it. */
function spellings(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1);
  const html = secret.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  const quoted = html.replaceAll('"', '&quot;');
  const all = [secret, json, json.replaceAll('/', '\\/'), html, quoted];
  for (const apostrophe of ['&#39;', '&#x27;', '&#039;']) all.push(quoted.replaceAll("'", apostrophe));
  // Half a character has no spelling in an address.
  return [...all, encodeURIComponent(secret.replace(/[\ud800-\udfff]/g, ''))];
}
