import { createHmac } from 'node:crypto'

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
/**
 * Length of a code. Seven characters allow 62^7 = 3.5 × 10^12 codes. With a hundred million links, the first code of
 * one new link in 35,000 is already taken, and another code is tried.
 */
const CODE_LENGTH = 7
/**
 * Number of byte values that are used. Higher values are skipped, because they would favour the first characters of the
 * alphabet.
 */
const EVEN_BYTES = 256 - (256 % BASE62.length)
/** Pattern of all short codes and aliases. */
const CODE_PATTERN = /^[0-9A-Za-z_-]{3,10}$/

/** Names that no link may have, because they are paths of the API or would mislead visitors. */
const RESERVED: ReadonlySet<string> = new Set(
  [
    ...['api', 'v1', 'v2', 'docs', 'doc', 'openapi', 'swagger', 'health', 'healthz', 'livez', 'readyz', 'metrics', 'status', 'version'],
    ...['admin', 'root', 'www', 'mail', 'ftp', 'static', 'assets', 'public', 'cdn', 'img', 'css', 'robots', 'favicon', 'sitemap'],
    ...['login', 'logout', 'signin', 'signup', 'sign-in', 'sign-up', 'register', 'account', 'user', 'users', 'me', 'settings', 'profile'],
    ...['help', 'support', 'about', 'contact', 'terms', 'privacy', 'legal', 'security', 'abuse', 'pricing', 'billing', 'blog', 'home'],
    ...['index', 'new', 'create', 'delete', 'edit', 'search', 'stats', 'links', 'link', 'urls', 'url', 'short', 'bulk', 'qr', 'null'],
    ...['undefined', 'well-known', 'p', 'trends', 'pastes', 'match', 'fraud', 'shop', 'internal', 'session'],
  ].filter((word) => CODE_PATTERN.test(word)),
)

export function isCode(text: string): boolean {
  return CODE_PATTERN.test(text)
}

/** Returns whether a code is reserved. Case does not matter, because `API` reads like `api`. */
export function isReserved(code: string): boolean {
  return RESERVED.has(code.toLowerCase())
}

/**
 * Derives a code that cannot be predicted without the secret. The same secret and parts always give the same code,
 * which is never a reserved code. Codes are uniformly distributed over base62, because bytes that would favour some
 * characters are skipped.
 */
export function derivedCode(secret: string, parts: readonly (string | number)[]): string {
  for (let round = 0; ; round++) {
    const digest = createHmac('sha256', secret)
      .update(JSON.stringify([...parts, round]))
      .digest()
    let code = ''
    for (const byte of digest) {
      if (byte < EVEN_BYTES) code += BASE62[byte % BASE62.length]
      if (code.length === CODE_LENGTH) break
    }
    if (code.length === CODE_LENGTH && !isReserved(code)) return code
  }
}
