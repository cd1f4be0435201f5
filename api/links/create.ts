import { type LinkAnswer, type LinkFields, linkFlow } from '../../schemas/links/flow.ts'
import type { LinkCommand } from '../../schemas/links/types.ts'
import type { CommandRequest, Commands, OpenCommand } from '../kit/commands/commands.ts'
import { ApiError, errors } from '../kit/errors.ts'
import { derivedCode, isCode, isReserved } from './codes.ts'
import type { ShortDomain, ShortDomains } from './domains.ts'
import { linksErrors } from './errors.ts'
import { expiryOf } from './expirations.ts'
import { linkJson, recordOf } from './link-json.ts'
import { checkedUrl } from './long-url.ts'
import type { NewLink } from './model.ts'

export interface LinkCreationDeps {
  readonly commands: Commands
  readonly domains: ShortDomains
  readonly secret: string
  /** Epoch ms. */
  readonly now: () => number
}

export interface LinkCreation {
  create(from: CommandRequest, body: NewLink): Promise<ReturnType<typeof linkJson>>
  /** Creates each link independently. If a link cannot be created, its result is the error. */
  createMany(from: CommandRequest, bodies: readonly NewLink[]): Promise<(ReturnType<typeof linkJson> | ApiError)[]>
}

/** A validated request. */
interface Wanted {
  readonly command: LinkCommand
  readonly domain: ShortDomain
  readonly alias: string | undefined
}

/**
 * Number of codes to try that are derived from the user, the domain and the URL. All of these codes may be taken, for
 * example because the user has often created and deleted the same link. The further codes are then derived from the
 * command.
 */
const MAX_OWN_CODES = 8
/**
 * Number of codes to try that are derived from the command. With a hundred million links, the probability that all of
 * them are taken is about 10^-36.
 */
const MAX_OTHER_CODES = 8

/** Values of command fields that only updates use. */
const NOT_AN_UPDATE = { sets_expiry: false, is_active: null, sets_expired_url: false }

export function linkCreation({ commands, domains, secret, now }: LinkCreationDeps): LinkCreation {
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

  /** Yields the codes to try, in order. Every repetition of the command tries the same codes. */
  function* candidates({ command, domain, alias }: Wanted, commandId: string): Generator<string> {
    if (alias !== undefined) {
      yield alias
      return
    }
    const own = ['url', String(command.user_id), domain.host, command.long_url]
    if (command.reuses) for (let attempt = 0; attempt < MAX_OWN_CODES; attempt++) yield derivedCode(secret, [...own, attempt])
    for (let attempt = 0; attempt < MAX_OTHER_CODES; attempt++) yield derivedCode(secret, ['command', commandId, attempt])
  }

  /** @param item index in a bulk request */
  async function make(open: OpenCommand, asked: Wanted, from: CommandRequest, item?: number) {
    let attempt = 0
    for (const code of candidates(asked, item === undefined ? open.id : `${open.id}:${item}`)) {
      const answer: LinkAnswer = await open.run(linkFlow, code, asked.command, stepName(item, attempt++))
      if (answer.outcome === 'created') return created(code, answer.link, from)
      if (asked.alias !== undefined) throw new ApiError(linksErrors.alias_taken)
    }
    throw new ApiError(errors.unavailable, { message: 'No free short code was found. Try again.' })
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
    async createMany(from, bodies) {
      const open = await commands.open(from, ['createLinks', bodies])
      return await Promise.all(
        bodies.map(async (body, index) => {
          try {
            return await make(open, wanted(body, from, `body.urls[${index}]`), from, index)
          } catch (error) {
            if (error instanceof ApiError) return error
            throw error
          }
        }),
      )
    },
  }
}

function stepName(item: number | undefined, attempt: number): string | undefined {
  if (item === undefined) return attempt === 0 ? undefined : String(attempt)
  return `${item}.${attempt}`
}
