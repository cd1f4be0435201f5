/**
 * Name of the cookie that contains a signed-in page's token. If the public URL uses https, the name has a prefix, so
 * browsers accept the cookie only from this exact host over TLS. Without the prefix, a neighbouring host could set the
 * cookie.
 */
const NAME = 'millrace-session'
const SECURE_PREFIX = '__Host-'
/**
 * Maximum length of a token, in characters. Browsers silently drop cookies whose name and value together exceed 4,096
 * bytes. The page could then not find out why its requests have no session.
 */
export const MAX_COOKIE_TOKEN = 4_000

/**
 * Attributes of the cookie. Scripts cannot read it, and browsers do not send it with requests that pages of other sites
 * make.
 */
const ATTRIBUTES = 'Path=/; HttpOnly; SameSite=Strict'
const LONG_AGO = new Date(0).toUTCString()

/** Writes and reads the session cookie. */
export interface SessionCookie {
  /** Returns the token in a Cookie header; undefined if the header has no token. */
  read(header: string | undefined): string | undefined
  /**
   * Returns the Set-Cookie header that stores a token until it expires.
   * @param expiresAt epoch ms
   */
  keep(token: string, expiresAt: number): string
  /** The Set-Cookie header that ends a session. */
  readonly clear: string
}

/**
 * Returns whether a Cookie header may contain a session, under the name with or without the prefix. This check is
 * cheap.
 */
export function mayHaveSession(header: string | undefined): boolean {
  return header?.includes(NAME) === true
}

/**
 * Creates the reader and writer of session cookies.
 * @param publicUrl the URL that browsers use. If its scheme is https, the cookie is never sent without TLS.
 */
export function sessionCookie(publicUrl: string): SessionCookie {
  const isSecure = publicUrl.startsWith('https:')
  const name = isSecure ? `${SECURE_PREFIX}${NAME}` : NAME
  const attributes = isSecure ? `${ATTRIBUTES}; Secure` : ATTRIBUTES
  return {
    read(header) {
      if (!mayHaveSession(header)) return undefined
      for (const pair of header!.split(';')) {
        const trimmed = pair.trim()
        if (trimmed.startsWith(`${name}=`)) return trimmed.slice(name.length + 1)
      }
      return undefined
    },
    keep: (token, expiresAt) => `${name}=${token}; Expires=${new Date(expiresAt).toUTCString()}; ${attributes}`,
    clear: `${name}=; Expires=${LONG_AGO}; ${attributes}`,
  }
}
