/** A percent-encoded byte. */
const ENCODED = /%[0-9A-Fa-f]{2}/g
/** The characters that RFC 3986, 2.3 calls unreserved. */
const UNRESERVED = /^[A-Za-z0-9._~-]$/

/**
 * Normalises the encoding of a path as RFC 3986, 6.2.2 describes: unreserved characters are not encoded, and
 * hexadecimal digits are in capitals. The paths of requests to other gateways and the patterns of rules are normalised.
 * Otherwise, a request could bypass the rule for its exact path by encoding a letter, and a pattern in another spelling
 * would match no request.
 */
export function normalisedPath(path: string): string {
  return path.replaceAll(ENCODED, (encoded) => {
    const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16))
    return UNRESERVED.test(character) ? character : encoded.toUpperCase()
  })
}
