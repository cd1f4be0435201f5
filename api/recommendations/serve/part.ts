import { CONTEXTS, RANKING_FEATURES } from '../../../schemas/recommendations/ranking/ranking-features.ts'
import { recommendationsServed } from '../../../schemas/recommendations/topics.ts'
import type { ServedRecommendations } from '../../../schemas/recommendations/types.ts'
import { jsonAnswer } from '../../kit/answer.ts'
import { ApiError, errors } from '../../kit/errors.ts'
import { factBuffer } from '../../kit/fact-buffer.ts'
import { PRIVATE } from '../../kit/headers.ts'
import { bind } from '../../kit/route.ts'
import type { ServiceKit } from '../../service.ts'
import { userOf } from '../caller.ts'
import { DEFAULT_REC_TYPE } from '../candidates/generate.ts'
import { genreOf } from '../items/genre.ts'
import { metPreference } from '../items/traits.ts'
import type { RecommendationsPart } from '../part.ts'
import { featuresOf, type Scored } from '../rank/rank.ts'
import type { RequestUser } from '../users/request-user.ts'
import { explanationOf } from './explanation.ts'
import type { PageTokens } from './page-token.ts'
import { DEFAULT_LIMIT, recommendationsRoute } from './routes.ts'
import type { AnswerItem, ListServer, ServedList } from './serve.ts'

export interface ServePartDeps extends Pick<ServiceKit, 'facts' | 'metrics' | 'log' | 'publicUrl' | 'now'> {
  readonly lists: ListServer
  readonly tokens: PageTokens
  /** Share of the answers whose ranking features are recorded, from 0 to 1. */
  readonly featuresShare: number
  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  random(): number
}

/**
 * Maximum number of answers whose records wait for Kafka. This many records take about 50 MB. Further records are
 * dropped and counted, because no request should wait until Kafka accepts them.
 */
const MOST_WAITING_ANSWERS = 10_000
const LAST_ANSWERS_MS = 2_000

/** Returns the ranking features of a candidate by name. */
function namedFeatures(scored: Scored): Readonly<Record<string, number>> {
  const features = featuresOf(scored)
  return Object.fromEntries(RANKING_FEATURES.map((name, index) => [name, features[index]]))
}

interface Page {
  readonly requestId: string
  readonly context: string
  readonly askedRecType: string
  readonly position: number
  readonly limit: number
  readonly isExplained: boolean
}

/** The part of the service that answers requests for lists. */
export interface ServePart extends RecommendationsPart {
  /** Makes a list and its answer for an invented user, without recording or publishing anything. */
  rehearse(user: RequestUser): Promise<void>
}

export function servePart(deps: ServePartDeps): ServePart {
  const { facts, lists, tokens, publicUrl, now } = deps
  const served = factBuffer<bigint, ServedRecommendations>({
    open: () => facts.openLog(recommendationsServed),
    capacity: MOST_WAITING_ANSWERS,
    registry: deps.metrics.registry,
    name: 'recommendations_served',
    log: deps.log,
  })

  function recommendationOf(item: AnswerItem, { shown, user }: ServedList, isExplained: boolean) {
    const { itemId, score, recType, sourceItemId, details, channel } = item
    const known = shown.get(itemId)
    const source = sourceItemId === undefined ? undefined : shown.get(sourceItemId)?.title
    return {
      item_id: String(itemId),
      score,
      title: known?.title ?? null,
      thumbnail_url: absolute(known?.thumbnail_url ?? null),
      explanation: explanationOf(item, source, () =>
        known === undefined ? '' : (metPreference(user.preferences, known) ?? genreOf(known)),
      ),
      rec_type: recType,
      source_item_id: sourceItemId?.toString() ?? null,
      ...(isExplained &&
        details !== undefined && {
          explain: {
            channel,
            place_by_score: details.placeByScore,
            features: namedFeatures(details),
          },
        }),
    }
  }

  /** Adds the API's public URL to the relative address of an image that this API serves. */
  function absolute(url: string | null): string | null {
    return url?.startsWith('/') ? `${publicUrl}${url}` : url
  }

  function record(list: ServedList, items: readonly AnswerItem[], page: Page): void {
    const withFeatures = deps.random() < deps.featuresShare
    served.offer(list.user.id, {
      request_id: page.requestId,
      model_version: list.modelVersion,
      context: page.context,
      rec_type: page.askedRecType,
      served_at: now(),
      degraded: [...list.degraded],
      features_offset: list.user.throughOffset,
      items: items.map(({ itemId, channel, recType, score, sourceItemId, details }, index) => ({
        item_id: itemId,
        position: page.position + index,
        channel,
        rec_type: recType,
        score,
        source_item_id: sourceItemId ?? null,
        features: withFeatures && details !== undefined ? Array.from(featuresOf(details)) : null,
      })),
    })
  }

  /** @param isShown false for a HEAD request, whose response contains no items that the user could see */
  function answer(list: ServedList, page: Page, isShown: boolean) {
    const items = list.items.slice(0, page.limit)
    if (items.length > 0 && isShown) record(list, items, page)
    return rendered(list, page)
  }

  function rendered(list: ServedList, page: Page) {
    const { requestId, context, position, limit } = page
    const items = list.items.slice(0, limit)
    const rest = list.items.slice(limit)
    const next = {
      userId: list.user.id,
      requestId,
      modelVersion: list.modelVersion,
      context,
      position: position + items.length,
      items: rest,
    }
    return jsonAnswer(
      200,
      {
        recommendations: items.map((item) => recommendationOf(item, list, page.isExplained)),
        request_id: requestId,
        model_version: list.modelVersion,
        page_token: rest.length === 0 ? null : tokens.sign(next),
        degraded: list.degraded,
        relaxed: list.isCapRelaxed ? ['genre_cap'] : [],
        ...(page.isExplained && { features_offset: list.user.throughOffset }),
      },
      PRIVATE,
    )
  }

  return {
    async rehearse(user) {
      const list = await lists.rehearse(user, DEFAULT_LIMIT)
      rendered(list, { requestId: '', context: CONTEXTS[0], askedRecType: '', position: 0, limit: DEFAULT_LIMIT, isExplained: false })
    },
    close: () => served.close(LAST_ANSWERS_MS),
    routes: [
      bind(recommendationsRoute, async ({ caller, query, requestId, method }) => {
        const { limit, page_token, context = CONTEXTS[0], explain: isExplained } = query
        if (isExplained && !caller!.scopes.has('internal'))
          throw new ApiError(errors.forbidden, { message: 'A request with explain=true needs a token with the scope internal.' })
        const userId = userOf(caller!, query.user_id, 'query.user_id')
        const isShown = method !== 'HEAD'
        if (page_token !== undefined) {
          const rest = tokens.read(page_token, userId)
          const page = { requestId: rest.requestId, context: rest.context, askedRecType: '', position: rest.position, limit, isExplained }
          return answer(await lists.serveRest(rest, limit), page, isShown)
        }
        const recType = query.rec_type ?? DEFAULT_REC_TYPE[context]
        const list = await lists.serve({ userId, recType, context, itemId: query.item_id, diversity: query.diversity, limit })
        return answer(list, { requestId, context, askedRecType: recType, position: 0, limit, isExplained }, isShown)
      }),
    ],
  }
}
