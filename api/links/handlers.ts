import { linkFlow } from '../../schemas/links/flow.ts'
import { linkDecisions, userLinks } from '../../schemas/links/topics.ts'
import type { LinkCommand } from '../../schemas/links/types.ts'
import type { TableReader } from '../../state/tables/reader.ts'
import { LINKS_VIEW, type LinkRecord, readLink } from '../../state/views/links/links.ts'
import { readUserLinks, USER_LINKS_VIEW } from '../../state/views/links/user-links.ts'
import type { ListReader, ViewReader } from '../../state/views/view.ts'
import { type Answer, jsonAnswer, noContent } from '../kit/answer.ts'
import { isDecimalUserId } from '../kit/auth/authorize.ts'
import type { CommandRequest, Commands } from '../kit/commands/commands.ts'
import { ApiError, errorBody, errors } from '../kit/errors.ts'
import type { Facts } from '../kit/facts.ts'
import { PRIVATE } from '../kit/headers.ts'
import { caughtUp, viewProbe } from '../kit/readiness.ts'
import { bind } from '../kit/route.ts'
import type { ServiceRoutes } from '../kit/service-routes.ts'
import { clickRoutes } from './clicks.ts'
import { isCode } from './codes.ts'
import { linkCreation } from './create.ts'
import type { ShortDomains } from './domains.ts'
import { linksErrors, notOwner } from './errors.ts'
import { expiryOf } from './expirations.ts'
import { linkJson, recordOf, shortUrl } from './link-json.ts'
import { checkedUrl } from './long-url.ts'
import type { LinkPatch } from './model.ts'
import { type QrFormat, qrCode } from './qr.ts'
import { bulkRoute, createRoute, deleteRoute, listRoute, patchRoute, qrRoute, redirectRoute } from './routes.ts'

export interface LinksDeps {
  readonly views: ViewReader & ListReader
  readonly tables: TableReader
  readonly facts: Facts
  readonly commands: Commands
  readonly domains: ShortDomains
  /** The secret from which short codes are derived. */
  readonly secret: string
  /** Epoch ms. */
  now(): number
}

/** Headers that let caches keep a QR code, because the short URL in the code never changes. */
const QR_HEADERS = { 'Cache-Control': 'public, max-age=86400' }
const MEDIA_TYPES: Readonly<Record<QrFormat, string>> = { svg: 'image/svg+xml', png: 'image/png' }
const NO_CHANGE: LinkCommand = {
  action: 'update',
  user_id: null,
  is_admin: false,
  long_url: '',
  domain: '',
  analytics: true,
  reuses: false,
  sets_expiry: false,
  expires_at: null,
  is_active: null,
  sets_expired_url: false,
  expired_url: null,
}

/** Creates the handlers of the link shortener: docs/services/links.md */
export function linksHandlers({ views, tables, facts, commands, domains, secret, now }: LinksDeps): ServiceRoutes {
  const creation = linkCreation({ commands, domains, secret, linkOf: (code) => known(code).catch(() => undefined), now })
  const ofClicks = clickRoutes({ views, tables, facts, linkOf: known, now })

  /** Changes or deletes a link on behalf of its owner or an administrator. */
  async function change(from: CommandRequest, code: string, operation: string, command: Partial<LinkCommand>, asked: unknown) {
    if (!isCode(code)) throw new ApiError(linksErrors.url_not_found)
    const open = await commands.open(from, [operation, code, asked])
    const caller = from.caller!
    const who = { user_id: BigInt(caller.subject), is_admin: caller.scopes.has('admin') }
    const answer = await open.run(linkFlow, code, { ...NO_CHANGE, ...who, ...command })
    if (answer.outcome === 'not_found') throw new ApiError(linksErrors.url_not_found)
    if (answer.outcome === 'forbidden') throw notOwner()
    if (answer.outcome === 'blocked')
      throw new ApiError(errors.forbidden, {
        message: 'An administrator has switched this link off. Only an administrator can switch it on again.',
      })
    return answer
  }

  async function patch(from: CommandRequest, code: string, body: LinkPatch): Promise<Answer> {
    const command: Partial<LinkCommand> = {
      is_active: body.is_active ?? null,
      ...(body.expiration !== undefined && { sets_expiry: true, expires_at: expiryOf(body.expiration, now()) }),
      ...(body.expired_url !== undefined && { sets_expired_url: true, expired_url: expiredUrlOf(body.expired_url) }),
    }
    const answer = await change(from, code, 'changeLink', command, body)
    if (answer.outcome !== 'updated') throw new Error(`unexpected outcome of a link update: ${answer.outcome}`)
    return jsonAnswer(200, linkJson(code, recordOf(answer.link, undefined), domains, now()), PRIVATE)
  }

  function expiredUrlOf(given: unknown): string | null {
    return given === null ? null : checkedUrl(given, domains, 'body.expired_url')
  }

  /** Reads a link. Throws `url_not_found`, `not_ready`. */
  async function known(code: string): Promise<LinkRecord> {
    const link = isCode(code) ? caughtUp(await readLink(views, facts.partitionOf(linkFlow.commands, code), code)) : undefined
    if (link === undefined) throw new ApiError(linksErrors.url_not_found)
    return link
  }

  async function list(user: string, page: number, limit: number): Promise<Answer> {
    const found = caughtUp(await readUserLinks(views, facts.partitionOf(userLinks, user), user, (page - 1) * limit, limit))
    const urls = found.links.map(({ code, link }) => linkJson(code, link, domains, now()))
    return jsonAnswer(200, { urls, total: found.total, page, limit }, PRIVATE)
  }

  async function picture(code: string, format: QrFormat, pixels: number): Promise<Answer> {
    const { domain } = await known(code)
    const headers = { ...QR_HEADERS, 'Content-Type': MEDIA_TYPES[format] }
    return { status: 200, headers, body: qrCode(shortUrl(code, domain, domains), format, pixels) }
  }

  return {
    name: 'links',
    isUserId: isDecimalUserId,
    description:
      'Short links. GET /{short_code} on a short domain redirects to the long URL and counts the click, with the exceptions that `followLink` describes. If the link does not exist, the answer is 404 `url_not_found`.',
    errors: Object.values(linksErrors),
    documented: [{ definition: redirectRoute, servers: domains.all.map(({ base }) => base) }],
    probes: [
      viewProbe(views, facts, LINKS_VIEW, linkDecisions),
      viewProbe(views, facts, USER_LINKS_VIEW, userLinks),
      commands.probe,
      ofClicks.probe,
    ],
    routes: [
      bind(createRoute, async (input) => jsonAnswer(201, await creation.create(input, input.body), PRIVATE)),
      bind(bulkRoute, async (input) => {
        const made = await creation.createMany(input, input.body.urls)
        const results = made.map((one) => (one instanceof ApiError ? failed(one, input.requestId) : { status: 201, ...one }))
        return jsonAnswer(200, { results }, PRIVATE)
      }),
      bind(listRoute, ({ caller, query }) => list(caller!.subject, query.page, query.limit)),
      bind(patchRoute, (input) => patch(input, input.params.short_code, input.body)),
      bind(deleteRoute, async (input) => {
        await change(input, input.params.short_code, 'deleteLink', { action: 'delete' }, null)
        return noContent()
      }),
      bind(qrRoute, ({ params, query }) => picture(params.short_code, query.format, query.size)),
      ...ofClicks.routes,
    ],
  }
}

function failed(error: ApiError, requestId: string) {
  const { request_id: _of_all, ...body } = errorBody(error, requestId)
  return { status: error.definition.status, ...body }
}
