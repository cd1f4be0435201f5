import { normalised } from '../../../schemas/normalised.ts'
import { recommendationUsers, userPreferences } from '../../../schemas/recommendations/topics.ts'
import { jsonAnswer, noContent } from '../../kit/answer.ts'
import { ApiError, errors } from '../../kit/errors.ts'
import { PRIVATE } from '../../kit/headers.ts'
import { caughtUp } from '../../kit/readiness.ts'
import { bind } from '../../kit/route.ts'
import type { ServiceKit } from '../../service.ts'
import type { RecommendationsPart } from '../part.ts'
import { tastesOf } from '../rank/tastes.ts'
import type { ListServer } from '../serve/serve.ts'
import type { RecommendationTables } from '../tables.ts'
import type { RequestUser } from './request-user.ts'
import { featuresRoute, getPreferencesRoute, putPreferencesRoute, putUserRoute } from './routes.ts'

export interface UsersDeps extends Pick<ServiceKit, 'facts' | 'now'> {
  readonly tables: RecommendationTables
  readonly lists: Pick<ListServer, 'findFeatures' | 'readFeatures' | 'modelFor'>
}

const DIMENSIONS = 256

export function usersPart({ facts, now, tables, lists }: UsersDeps): RecommendationsPart {
  /** @param what names the data that the request reads, for the error message */
  async function known(userId: bigint, what: string): Promise<RequestUser> {
    const user = await lists.findFeatures(userId)
    if (user === undefined) throw new ApiError(errors.unavailable, { message: `${what} cannot be read now. Try again shortly.` })
    return caughtUp(user, { message: `${what} are still being loaded. Try again shortly.` })
  }

  function featuresOf(user: RequestUser) {
    const model = lists.modelFor(user.id)
    const { items } = tables
    return {
      user_id: String(user.id),
      embedding: Array.from(model?.foldIn(user.history) ?? new Float32Array(DIMENSIONS)),
      embedding_version: model?.sequence ?? null,
      embedding_updated_at: model === undefined ? null : new Date(model.trainedAt).toISOString(),
      real_time_features: {
        last_5_items: user.lastViewed.map(String),
        session_genre_dist: Object.fromEntries([...tastesOf(items, user).session].map(([genre, share]) => [items.genreName(genre), share])),
        hours_since_last_visit: user.hoursAway ?? null,
      },
      static_features: {
        country: user.country ?? null,
        age_bucket: user.ageBucket ?? null,
        subscription_tier: user.subscriptionTier ?? null,
      },
      features_offset: user.throughOffset,
    }
  }

  return {
    routes: [
      bind(putPreferencesRoute, async ({ caller, body }) => {
        // Preferences are compared with the texts of items, which are normalised too.
        const preferences = body.preferences.map(({ category, value, weight }) => {
          return { category: normalised(category), value: normalised(value), weight }
        })
        const userId = BigInt(caller!.subject)
        // The pipeline ignores preferences that are older than the stored preferences. The clock of the process that
        // stored them may be ahead.
        const storedAt = (await lists.readFeatures(userId))?.preferencesAt ?? 0
        await facts.publish(userPreferences, userId, { preferences, updated_at: Math.max(now(), storedAt) })
        return jsonAnswer(200, { preferences }, PRIVATE)
      }),
      bind(getPreferencesRoute, async ({ caller }) => {
        const { preferences } = await known(BigInt(caller!.subject), 'Your preferences')
        return jsonAnswer(200, { preferences }, PRIVATE)
      }),
      bind(featuresRoute, async ({ params: { user_id } }) => {
        return jsonAnswer(200, featuresOf(await known(user_id, "The user's features")), PRIVATE)
      }),
      bind(putUserRoute, async ({ params: { user_id }, body }) => {
        const { country = null, language = null, age_bucket = null, signup_date = null, sub_tier = null } = body
        const storedAt = (await lists.readFeatures(user_id))?.propertiesAt ?? 0
        // A body without a time counts as the newest, even if the clock of the process that stored the properties is
        // ahead.
        const updated_at = body.updated_at === undefined ? Math.max(now(), storedAt) : Date.parse(body.updated_at)
        // The pipeline ignores older properties too. In the compacted topic, they would replace the newer record.
        if (updated_at < storedAt) return noContent()
        await facts.publish(recommendationUsers, user_id, { country, language, age_bucket, signup_date, sub_tier, updated_at })
        return noContent()
      }),
    ],
  }
}
