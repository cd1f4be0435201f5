import { ApiError } from '../kit/errors.ts'
import { type ShortDomains, withoutRootDot } from './domains.ts'
import { linksErrors } from './errors.ts'

/** Of the URL as given and as stored: it travels in a header. */
export const MAX_URL_CHARACTERS = 2_048

/** Two labels at least, none of them empty. */
const DOTTED_HOST = /^[^.]+(?:\.[^.]+)+$/

/**
 * The URL that a link will lead to, as WHATWG's parser writes it: ASCII, and safe in a Location header.
 * @param path where it stands in the request
 * Throws ApiError `invalid_url`.
 */
export function checkedUrl(given: unknown, domains: ShortDomains, path: string): string {
  const refuse = (message: string) => new ApiError(linksErrors.invalid_url, { details: [{ path, message }] })
  if (typeof given !== 'string') throw refuse('must be a text')
  if (given.length > MAX_URL_CHARACTERS) throw refuse(`is longer than ${MAX_URL_CHARACTERS} characters`)
  const url = URL.parse(given)
  if (url === null) throw refuse('is no absolute URL')
  if (url.protocol !== 'http:' && url.protocol !== 'https:') throw refuse('must begin with http:// or https://')
  if (url.username !== '' || url.password !== '') throw refuse('must not hold a user name or password')
  const host = withoutRootDot(url.hostname)
  if (!DOTTED_HOST.test(host) && !host.startsWith('[')) throw refuse('must name a host with a dot, or an address')
  if (domains.leadsBack(url)) throw refuse('leads back to a short domain')
  if (url.href.length > MAX_URL_CHARACTERS) throw refuse(`is longer than ${MAX_URL_CHARACTERS} characters when it is encoded`)
  return url.href
}
