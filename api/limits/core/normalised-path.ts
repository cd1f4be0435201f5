/**
 * The characters that normalised paths contain in plain form: those that RFC 3986, 3.3 allows in a segment of a path
 * except the asterisk, plus the braces of path templates. Routers decode most of these characters if they are encoded.
 */
const PLAIN = "-A-Za-z0-9._~!$&'()+,;=:@{}"
const IS_PLAIN_CHARACTER = new RegExp(`^[${PLAIN}]$`)
/** Matches most paths, and only paths that are already normalised. */
const IS_PLAIN_PATH = new RegExp(`^[${PLAIN}/]*$`)
const ENCODED_BYTE = '%[0-9A-Fa-f]{2}'
/** What may need another spelling in the path of a request: encoded bytes, and all characters that are not plain. */
const IN_PATHS = new RegExp(`${ENCODED_BYTE}|[^${PLAIN}/]`, 'gu')
/**
 * What may need another spelling in a pattern: the same as in a path, with two exceptions. Asterisks are not encoded,
 * because they are wildcards in patterns. White space, `?` and `#` are not encoded either, so that a pattern with one
 * of them is still refused.
 */
const IN_PATTERNS = new RegExp(`${ENCODED_BYTE}|[^${PLAIN}/*?#\\s]`, 'gu')

/**
 * Number of characters of a request's path that are normalised. They suffice for every normalised pattern of up to 341
 * characters, because a request can spell each of these characters with at most three, as an encoded byte. Normalising
 * a hostile path of the maximum length would take milliseconds.
 */
const MAX_NORMALISED = 1_024

/**
 * Normalises the encoding of a request's path. Clients may spell the same path in different ways, routers decode a part
 * of it, and other gateways send it as they received it. Without normalisation, a request could bypass the rule for its
 * exact path by encoding a letter, and a pattern in another spelling would match no request. The end of a long path is
 * not changed.
 */
export function normalisedPath(path: string): string {
  if (path.length > MAX_NORMALISED) return normalisedPath(path.slice(0, MAX_NORMALISED)) + path.slice(MAX_NORMALISED)
  return IS_PLAIN_PATH.test(path) ? path : path.replaceAll(IN_PATHS, normalisedPart)
}

/** Normalises the encoding of the path in a rule's pattern, so that it is equal to the normalised paths of requests. */
export function normalisedPattern(pattern: string): string {
  return IS_PLAIN_PATH.test(pattern) ? pattern : pattern.replaceAll(IN_PATTERNS, normalisedPart)
}

/** @param part an encoded byte or a single character */
function normalisedPart(part: string): string {
  if (part.length > 2) {
    const character = String.fromCharCode(Number.parseInt(part.slice(1), 16))
    return IS_PLAIN_CHARACTER.test(character) ? character : part.toUpperCase()
  }
  // `encodeURIComponent` does not encode asterisks, and throws on lone surrogates.
  return part === '*' ? '%2A' : encodeURIComponent(part.toWellFormed())
}
