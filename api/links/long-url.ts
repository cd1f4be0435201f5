import { ApiError } from '../kit/errors.ts'
import { type ShortDomains, withoutRootDot } from './domains.ts'
import { linksErrors } from './errors.ts'

/** Maximum length of a URL, both as given and as stored. The stored URL is sent in a header. */
export const MAX_URL_CHARACTERS = 2_048

/** Matches a host with at least two non-empty labels. */
const DOTTED_HOST = /^[^.]+(?:\.[^.]+)+$/

/**
 * Validates the target of a link, and normalises it as the WHATWG parser does. The result is ASCII and safe in a
 * Location header.
 * @param path path of the field in the request
 * @throws ApiError `invalid_url`
 */
export function checkedUrl(given: unknown, domains: ShortDomains, path: string): string {
  const refuse = (message: string) => new ApiError(linksErrors.invalid_url, { details: [{ path, message }] })
  if (typeof given !== 'string') throw refuse('must be a string')
  if (given.length > MAX_URL_CHARACTERS) throw refuse(`is longer than ${MAX_URL_CHARACTERS} characters`)
  const url = URL.parse(given)
  if (url === null) throw refuse('is not an absolute URL')
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw refuse('must begin with http:// or https://')
  if (url.username !== '' || url.password !== '') throw refuse('must not contain a user name or password')
  const host = withoutRootDot(url.hostname)
  if (!DOTTED_HOST.test(host) && !host.startsWith('[')) throw refuse('must name a host with a dot, or an IP address')
  if (domains.leadsBack(url)) throw refuse('must not point to a short domain')
  if (url.href.length > MAX_URL_CHARACTERS) throw refuse(`is longer than ${MAX_URL_CHARACTERS} characters after encoding`)
  return url.href
}
