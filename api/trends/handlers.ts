import { trendOutput, userInterests } from '../../schemas/trends/topics.ts'
import type { TableReader } from '../../state/tables/reader.ts'
import { INTERESTS_VIEW } from '../../state/views/trends/interests.ts'
import { TRENDS_VIEW } from '../../state/views/trends/trends.ts'
import type { BinaryReader, ViewReader } from '../../state/views/view.ts'
import type { Answer } from '../kit/answer.ts'
import { isDecimalUserId } from '../kit/auth/authorize.ts'
import type { Facts } from '../kit/facts.ts'
import type { HttpMetrics } from '../kit/metrics.ts'
import { viewProbe } from '../kit/readiness.ts'
import { bind } from '../kit/route.ts'
import type { ServiceRoutes } from '../kit/service-routes.ts'
import type { OpenService } from '../service.ts'
import { trendsErrors } from './errors.ts'
import { freshnessProbe } from './freshness.ts'
import type { BlockedTerms } from './hidden/blocked-terms.ts'
import { hiddenTerms } from './hidden/hidden.ts'
import { blockingRoutes } from './hidden/part.ts'
import { history } from './history.ts'
import { interests } from './interests.ts'
import { trendLists } from './lists.ts'
import { trendsPages } from './page/part.ts'
import { pastLists } from './past.ts'
import { availablePlaces, closestPlace } from './places.ts'
import { refresh } from './refresh.ts'
import { knownRegion } from './regions.ts'
import { mutedTerms, rerank } from './rerank.ts'
import {
  closestRoute,
  historyRoute,
  listRoute,
  locationsRoute,
  pastRoute,
  readInterestsRoute,
  refreshRoute,
  streamRoute,
  writeInterestsRoute,
} from './routes.ts'
import { trendStreams } from './stream/streams.ts'

export interface TrendsDeps {
  readonly views: ViewReader & Pick<BinaryReader, 'hmgetBuffer'>
  readonly tables: TableReader
  readonly facts: Facts
  readonly blocked: BlockedTerms
  readonly metrics: Pick<HttpMetrics, 'registry'>
  /** Epoch ms. */
  now(): number
  /** Monotonic ms. */
  monotonic(): number
  /** Pauses between two reads of a view. Tests replace this function. */
  sleep?(ms: number): Promise<unknown>
}

type TrendsRoutes = ServiceRoutes & Required<Pick<OpenService, 'stopping'>>

interface ListQuery {
  readonly woeid: number
  readonly limit: number
  readonly safe: boolean
}

/** Creates the handlers of the trends service: docs/services/trends.md */
export function trendsHandlers({ views, tables, facts, blocked, metrics, now, monotonic, sleep }: TrendsDeps): TrendsRoutes {
  const hidden = hiddenTerms(blocked)
  const lists = trendLists({ reader: views, facts, hidden, now })
  const streams = trendStreams({ lists, registry: metrics.registry, now, monotonic })
  const profiles = interests({ reader: views, facts, now, monotonic, sleep })
  const readPast = pastLists({ reader: tables, facts, hidden, now })
  const readHistory = history({ reader: tables, facts, now })

  async function list({ woeid, limit, safe }: ListQuery, personalFor: bigint | undefined): Promise<Answer> {
    const region = knownRegion(woeid)
    if (personalFor === undefined) return await lists.plain(region, limit, safe)
    const [candidates, profile] = await Promise.all([lists.candidates(region, safe), profiles.of(personalFor)])
    return lists.personal(candidates, region, rerank(candidates.candidates, profile, limit), safe, mutedTerms(profile))
  }

  return {
    name: 'trends',
    isUserId: isDecimalUserId,
    description: 'Lists of the terms that people are talking about now, by location. The lists are updated twice a minute.',
    errors: Object.values(trendsErrors),
    probes: [
      viewProbe(views, facts, TRENDS_VIEW, trendOutput),
      viewProbe(views, facts, INTERESTS_VIEW, userInterests),
      freshnessProbe(lists, now),
      ...blocked.probes,
    ],
    stopping: streams.stop,
    routes: [
      bind(listRoute, async ({ query, caller }) => {
        const personalFor = query.personalized && caller !== undefined ? BigInt(caller.subject) : undefined
        const answer = await list(query, personalFor)
        // Without this header, a shared cache could serve the plain list, which is for anonymous callers, to a caller
        // with a token.
        return query.personalized ? withVary(answer, 'Authorization, Cookie') : answer
      }),
      bind(
        streamRoute,
        async ({ query, address, method }) => await streams.open(knownRegion(query.woeid), query.safe, address, method === 'HEAD'),
      ),
      bind(locationsRoute, ({ query }) => availablePlaces(query.q)),
      bind(closestRoute, ({ query }) => closestPlace(query)),
      bind(pastRoute, ({ params, query }) => readPast({ ...query, woeid: params.woeid })),
      bind(historyRoute, ({ params, query }) => readHistory({ ...query, term: params.term })),
      bind(refreshRoute, ({ body }) => refresh(body, { facts, lists }, now())),
      ...trendsPages({ lists, tables, facts, readHistory, now }),
      ...blockingRoutes({ facts, blocked, now }),
      bind(readInterestsRoute, ({ caller }) => profiles.read(BigInt(caller!.subject))),
      bind(writeInterestsRoute, ({ caller, body }) => profiles.write(BigInt(caller!.subject), body)),
    ],
  }
}

function withVary(answer: Answer, name: string): Answer {
  const { Vary } = answer.headers
  return { ...answer, headers: { ...answer.headers, Vary: Vary === undefined ? name : `${Vary}, ${name}` } }
}
