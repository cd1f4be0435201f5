import { clickDetails, linkStats } from '../../schemas/links/topics.ts'
import { caughtUpPartitions } from '../../state/tables/catch-ups.ts'
import { clicksTable } from '../../state/tables/links/clicks.ts'
import type { TableReader } from '../../state/tables/reader.ts'
import { LINK_STATS_VIEW, readLinkStats } from '../../state/views/links/link-stats.ts'
import type { ViewReader } from '../../state/views/view.ts'
import { type Answer, jsonAnswer } from '../kit/answer.ts'
import type { Caller } from '../kit/auth/verify.ts'
import { ApiError, errors } from '../kit/errors.ts'
import type { Facts } from '../kit/facts.ts'
import { PRIVATE } from '../kit/headers.ts'
import { caughtUp, type ReadinessProbe, viewProbe } from '../kit/readiness.ts'
import { type BoundRoute, bind } from '../kit/route.ts'
import { clickExport } from './click-export.ts'
import { exportRoute, statsRoute } from './click-routes.ts'
import { type CountedLink, clickStats } from './click-stats.ts'
import { notOwner } from './errors.ts'

/** The properties of a link that its statistics show, and its owner, who may see its clicks. */
export interface OwnedLink extends CountedLink {
  /** User id of the owner in decimal; undefined if an anonymous caller created the link. */
  readonly userId: string | undefined
}

export interface ClicksDeps {
  readonly views: ViewReader
  readonly tables: TableReader
  readonly facts: Facts
  /** Reads a link. Throws `url_not_found`, `not_ready`. */
  readonly linkOf: (code: string) => Promise<OwnedLink>
  /** Epoch ms. */
  readonly now: () => number
}

const DAY_MS = 86_400_000
/** Number of days that can be exported. The table keeps clicks for this long. */
const EXPORTED_DAYS = 90
/** Retry-After while the table is being filled. */
const RETRY_AFTER_SECONDS = 10

/** Creates the routes that show the clicks on a link to its owner and to admins, and the probe of the statistics. */
export function clickRoutes({ views, tables, facts, linkOf, now }: ClicksDeps): { routes: BoundRoute[]; probe: ReadinessProbe } {
  async function ownLink(code: string, caller: Caller): Promise<OwnedLink> {
    const link = await linkOf(code)
    if (link.userId !== caller.subject && !caller.scopes.has('admin')) throw notOwner()
    return link
  }

  async function stats(code: string, caller: Caller): Promise<Answer> {
    // The link and its statistics are read in parallel to save a round trip. If the caller may not see the statistics,
    // they are discarded.
    const reading = readLinkStats(views, facts.partitionOf(linkStats, code), code)
    const [link, found] = await Promise.all([ownLink(code, caller), reading])
    return jsonAnswer(200, clickStats(code, link, caughtUp(found), now()), PRIVATE)
  }

  async function exported(code: string, caller: Caller, from: string | undefined, to: string | undefined): Promise<Answer> {
    await ownLink(code, caller)
    const end = to === undefined ? now() : Date.parse(to)
    const start = from === undefined ? now() - EXPORTED_DAYS * DAY_MS : Date.parse(from)
    const answer = await clickExport(tables, { code, from: start, to: end })
    // This check runs after the first page is read, so that it also detects a table that was recreated during the read.
    const [caughtUp] = await caughtUpPartitions(tables, clicksTable.name)
    if (caughtUp < facts.partitionsOf(clickDetails))
      throw new ApiError(errors.not_ready, {
        message: 'The clicks are still being loaded. Try again shortly.',
        retryAfter: RETRY_AFTER_SECONDS,
      })
    return answer
  }

  return {
    routes: [
      bind(statsRoute, ({ params, caller }) => stats(params.short_code, caller!)),
      bind(exportRoute, ({ params, query, caller }) => exported(params.short_code, caller!, query.from, query.to)),
    ],
    // The probe is optional, because creating and following links works without the view of statistics.
    probe: { ...viewProbe(views, facts, LINK_STATS_VIEW, linkStats), optional: true },
  }
}
