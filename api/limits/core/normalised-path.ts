/** A percent-encoded byte. */
const ENCODED = /%[0-9A-Fa-f]{2}/g
/**
 * The characters that are never encoded: those that RFC 3986, 2.3 calls unreserved, those that routers decode although
 * RFC 3986 reserves them, and the braces of path templates.
 */
const NEVER_ENCODED = /^[A-Za-z0-9._~!'(){}-]$/
/** The characters that are always encoded in the path of a pattern. Patterns must not contain white space. */
const ENCODED_IN_PATTERNS = /["<>\\^`|]|[^\s\x21-\x7e]/gu
/** The characters that are always encoded in the path of a request. Only patterns use the asterisk as a wildcard. */
const ENCODED_IN_PATHS = /["<>\\^`|*]|[^\x21-\x7e]/gu
/** Matches most paths, and only paths that are already normalised. */
const IS_PLAIN = /^[A-Za-z0-9._~!'(){}/:-]*$/

/**
 * Normalises the encoding of a request's path. Clients may spell the same path in different ways, routers decode a part
 * of it, and other gateways send it as they received it. Without normalisation, a request could bypass the rule for its
 * exact path by encoding a letter, and a pattern in another spelling would match no request.
 */
export function normalisedPath(path: string): string {
  return normalised(path, ENCODED_IN_PATHS)
}

/** Normalises the encoding of the path in a rule's pattern, so that it is equal to the normalised paths of requests. */
export function normalisedPattern(pattern: string): string {
  return normalised(pattern, ENCODED_IN_PATTERNS)
}

function normalised(path: string, alwaysEncoded: RegExp): string {
  if (IS_PLAIN.test(path)) return path
  return path
    .replaceAll(ENCODED, (encoded) => {
      const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16))
      return NEVER_ENCODED.test(character) ? character : encoded.toUpperCase()
    })
    .replaceAll(alwaysEncoded, encodedCharacter)
}

function encodedCharacter(character: string): string {
  // `encodeURIComponent` does not encode asterisks, and throws on lone surrogates.
  return character === '*' ? '%2A' : encodeURIComponent(character.toWellFormed())
}
