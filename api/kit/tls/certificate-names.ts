import type { X509Certificate } from 'node:crypto'

/** Maximum length of a name in logs and audit records. RFC 5280 limits common names to half this length. */
const MAX_NAME_CHARACTERS = 128
/**
 * Matches the next alternative name in Node's format, of any type. Node quotes values with special characters as JSON
 * strings. Each match begins at the end of the previous match, because the value of one name may look like another
 * name.
 */
const ALTERNATIVE_NAME = /([^:,"]+):("(?:[^"\\]|\\.)*"|[^,"]*)(?:, |$)/gy
const SHOWN_TYPES: ReadonlySet<string> = new Set(['DNS', 'URI', 'email'])

/**
 * Returns the names of a certificate, unchanged: first its common names, then its alternative names (DNS, URI, e-mail).
 */
export function certificateNames(certificate: X509Certificate): string[] {
  const { subject } = certificate.toLegacyObject()
  const common: string | string[] | undefined = subject?.CN
  const alternative = [...(certificate.subjectAltName ?? '').matchAll(ALTERNATIVE_NAME)]
    .filter(([, type]) => SHOWN_TYPES.has(type))
    .map(([, , value]) => unquoted(value))
  return [...(common === undefined ? [] : [common].flat()), ...alternative].filter((name) => name !== '')
}

/**
 * Returns the name of a certificate for logs and audit records: its first name, or its fingerprint if it has no name.
 */
export function shownName(names: readonly string[], { fingerprint256 }: X509Certificate): string {
  const plain = (names[0] ?? '')
    .toWellFormed()
    .normalize('NFC')
    .replaceAll(/\p{Cc}/gu, '')
    .trim()
  return [...plain].slice(0, MAX_NAME_CHARACTERS).join('') || fingerprint256
}

function unquoted(value: string): string {
  return value.startsWith('"') ? (JSON.parse(value) as string) : value
}
