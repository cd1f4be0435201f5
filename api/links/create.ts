import { type LinkAnswer, type LinkFields, linkFlow } from '../../schemas/links/flow.ts'
import type { LinkCommand } from '../../schemas/links/types.ts'
import type { LinkRecord } from '../../state/views/links/links.ts'
import type { CommandRequest, Commands, OpenCommand } from '../kit/commands/commands.ts'
import { ApiError, errors } from '../kit/errors.ts'
import { assertValid, check } from '../kit/input.ts'
import { derivedCode, isCode, isReserved } from './codes.ts'
import type { ShortDomain, ShortDomains } from './domains.ts'
import { linksErrors } from './errors.ts'
import { expiryOf } from './expirations.ts'
import { isExpired, linkJson, recordOf } from './link-json.ts'
import { checkedUrl } from './long-url.ts'
import { type NewLink, NewLinkBody } from './model.ts'

export interface LinkCreationDeps {
  readonly commands: Commands
  readonly domains: ShortDomains
  readonly secret: string
  /** Reads a link; undefined if there is none, or if links cannot be read now. */
  readonly linkOf: (code: string) => Promise<LinkRecord | undefined>
  /** Epoch ms. */
  readonly now: () => number
}

export interface LinkCreation {
  create(from: CommandRequest, body: NewLink): Promise<ReturnType<typeof linkJson>>
  /** Checks and creates each link independently. If a link cannot be created, its result is the error. */
  createMany(from: CommandRequest, given: readonly unknown[]): Promise<(ReturnType<typeof linkJson> | ApiError)[]>
}

/** A validated request. */
interface Wanted {
  readonly command: LinkCommand
  readonly domain: ShortDomain
  readonly alias: string | undefined
}

/**
 * Number of codes that are derived from the user, the domain and the URL. Each link that has expired, was switched off
 * or was deleted, or that has the other value of `analytics`, uses up one of them. If all of them are used, the further
 * codes are derived from the command.
 */
const MAX_OWN_CODES = 512
/**
 * Number of codes derived from the user, the domain and the URL that one command tries. After the first code, codes of
 * links that are known not to be reusable are skipped. Deleted links cannot be read, so their codes are tried.
 */
const MAX_OWN_TRIES = 8
/** Number of links that are read at once when codes are skipped. */
const LINKS_READ = 32
/**
 * Number of codes to try that are derived from the command. With a hundred million links, the probability that all of
 * them are taken is about 10^-36.
 */
const MAX_OTHER_CODES = 8

/** Values of command fields that only updates use. */
const NOT_AN_UPDATE = { sets_expiry: false, is_active: null, sets_expired_url: false }

export function linkCreation({ commands, domains, secret, linkOf, now }: LinkCreationDeps): LinkCreation {
  function wanted(body: NewLink, from: CommandRequest, path: string): Wanted {
    const domain = domainOf(body.domain, path)
    const long_url = checkedUrl(body.long_url, domains, `${path}.long_url`)
    const expired_url = body.expired_url === undefined ? null : checkedUrl(body.expired_url, domains, `${path}.expired_url`)
    const alias = aliasOf(body.custom_alias, path)
    const user_id = from.caller === undefined ? null : BigInt(from.caller.subject)
    const reuses = user_id !== null && body.deduplicate && alias === undefined
    const expires_at = expiryOf(body.expiration, now())
    const { analytics } = body
    const what = { long_url, domain: domain.host, analytics, expires_at, expired_url, reuses }
    return { command: { action: 'create', user_id, is_admin: false, ...what, ...NOT_AN_UPDATE }, domain, alias }
  }

  function domainOf(given: unknown, path: string): ShortDomain {
    if (given === undefined) return domains.first
    const known = typeof given === 'string' ? domains.byHost(given) : undefined
    if (known !== undefined) return known
    throw new ApiError(linksErrors.invalid_domain, { details: [{ path: `${path}.domain`, message: 'is not one of the short domains' }] })
  }

  function aliasOf(given: unknown, path: string): string | undefined {
    if (given === undefined) return undefined
    if (typeof given !== 'string' || !isCode(given))
      throw new ApiError(linksErrors.invalid_alias, {
        details: [{ path: `${path}.custom_alias`, message: linksErrors.invalid_alias.message }],
      })
    if (isReserved(given)) throw new ApiError(linksErrors.alias_taken, { message: 'This alias is reserved. Choose another alias.' })
    return given
  }

  /**
   * Yields the codes to try, in order, with the numbers of their attempts. Every repetition of the command tries the
   * same codes.
   * @param item index in a bulk request
   */
  async function* candidates(open: OpenCommand, asked: Wanted, item?: number): AsyncGenerator<readonly [code: string, attempt: number]> {
    const { command, domain, alias } = asked
    if (alias !== undefined) {
      yield [alias, 0]
      return
    }
    let attempt = 0
    if (command.reuses) {
      const own = (at: number) => derivedCode(secret, ['url', String(command.user_id), domain.host, command.long_url, at])
      for (let tries = 0; tries < MAX_OWN_TRIES && attempt < MAX_OWN_CODES; tries++) {
        yield [own(attempt), attempt]
        const next = await nextUsable(command, own, attempt + 1)
        attempt = await open.once(`after-${stepName(item, attempt) ?? attempt}`, () => next)
      }
    }
    const commandId = item === undefined ? open.id : `${open.id}:${item}`
    for (let other = 0; other < MAX_OTHER_CODES; other++) yield [derivedCode(secret, ['command', commandId, other]), attempt + other]
  }

  /**
   * Returns the first attempt, at or after `from`, whose code is free or belongs to a link that may be reused. A code
   * whose link cannot be read counts as free. If there is no such attempt, returns MAX_OWN_CODES.
   */
  async function nextUsable(command: LinkCommand, own: (attempt: number) => string, from: number): Promise<number> {
    for (let first = from; first < MAX_OWN_CODES; first += LINKS_READ) {
      const count = Math.min(LINKS_READ, MAX_OWN_CODES - first)
      const links = await Promise.all(Array.from({ length: count }, (_, at) => linkOf(own(first + at))))
      const usable = links.findIndex((link) => link === undefined || mayBeReused(link, command))
      if (usable >= 0) return first + usable
    }
    return MAX_OWN_CODES
  }

  function mayBeReused(link: LinkRecord, { long_url, domain, analytics, user_id }: LinkCommand): boolean {
    const isSame = link.longUrl === long_url && link.domain === domain && link.analytics === analytics
    return isSame && link.userId === String(user_id) && link.isActive && !isExpired(link, now())
  }

  /** @param item index in a bulk request */
  async function make(open: OpenCommand, asked: Wanted, from: CommandRequest, item?: number) {
    for await (const [code, attempt] of candidates(open, asked, item)) {
      const answer: LinkAnswer = await open.run(linkFlow, code, asked.command, stepName(item, attempt))
      if (answer.outcome === 'created') return created(code, answer.link, from)
      if (asked.alias !== undefined) throw new ApiError(linksErrors.alias_taken)
    }
    throw new ApiError(errors.unavailable, {
      message: 'No free short code was found. Try again with a new Idempotency-Key.',
      needsNewKey: true,
    })
  }

  function created(code: string, link: LinkFields, from: CommandRequest) {
    return linkJson(code, recordOf(link, from.caller?.subject), domains, now())
  }

  return {
    async create(from, body) {
      const asked = wanted(body, from, 'body')
      const open = await commands.open(from, ['createLink', body])
      return await make(open, asked, from)
    },
    async createMany(from, given) {
      const links = given.map((one, index) => ({ one, checked: check(NewLinkBody, one, placeOf(index)) }))
      const asked = links.map(({ one, checked }) => checked.value ?? one)
      const open = await commands.open(from, ['createLinks', asked])
      return await Promise.all(
        links.map(async ({ checked }, index) => {
          try {
            assertValid(checked)
            return await make(open, wanted(checked.value as NewLink, from, placeOf(index)), from, index)
          } catch (error) {
            if (error instanceof ApiError) return error
            throw error
          }
        }),
      )
    },
  }
}

/** @param item index in a bulk request */
function placeOf(item: number): string {
  return `body.urls[${item}]`
}

function stepName(item: number | undefined, attempt: number): string | undefined {
  if (item === undefined) return attempt === 0 ? undefined : String(attempt)
  return `${item}.${attempt}`
}
