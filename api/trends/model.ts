import { z } from '@hono/zod-openapi'

const timestamp = (description: string) => z.iso.datetime().openapi({ description, example: '2026-01-15T12:00:00.000Z' })

const TrendEntrySchema = z
  .object({
    rank: z.int().min(1).openapi({ description: '1-based' }),
    name: z.string().openapi({ description: 'the hashtag or phrase as most people write it', example: '#MondayMotivation' }),
    query: z.string().openapi({ description: 'URL-encoded form of name', example: '%23MondayMotivation' }),
    term: z.string().openapi({ description: 'what is counted: folded, without #; the {term} of the history', example: 'mondaymotivation' }),
    tweet_volume: z.int().openapi({ description: 'in the last 60 minutes' }),
    volume_24h: z.int(),
    velocity: z.number().openapi({ description: 'volume now / volume one hour ago' }),
    velocity_vs_usual: z.number().openapi({ description: 'count / what is usual at this hour of the week' }),
    label: z.enum(['Trending', 'Viral']).nullable().openapi({ description: 'above 3 and above 10 times the usual' }),
    trending_since: timestamp('when it entered the top 30'),
    sample_tweets: z.array(z.string()).openapi({ description: 'ids of the newest tweets, at most 3', example: ['1234567890123456789'] }),
  })
  .openapi('TrendEntry')

export const TrendListSchema = z
  .object({
    as_of: timestamp("the window's end"),
    ttl_s: z.int().openapi({ example: 60 }),
    location: z.object({ woeid: z.int(), name: z.string() }).openapi({ example: { woeid: 1, name: 'Worldwide' } }),
    personalized: z.boolean().openapi({ description: "true: reranked by the caller's interests" }),
    trends: z.array(TrendEntrySchema),
  })
  .openapi('TrendList')

export const LocationSchema = z
  .object({
    woeid: z.int(),
    name: z.string(),
    type: z.enum(['Supername', 'Country', 'Town']),
    parent: z.int().nullable().openapi({ description: 'woeid of the region around this one' }),
    country_code: z.string().nullable().openapi({ description: 'ISO 3166-1 alpha-2' }),
  })
  .openapi('Location')

export const HistorySchema = z
  .object({
    term: z.string().openapi({ description: 'as asked for' }),
    woeid: z.int(),
    resolution: z.string(),
    data_points: z.array(
      z.object({ ts: timestamp('start of the step'), volume: z.int().openapi({ description: 'events counted in the step' }) }),
    ),
  })
  .openapi('TrendHistory')

export const InterestsSchema = z
  .object({
    user_id: z.string(),
    topic_weights: z.record(z.string(), z.number()).openapi({ example: { football: 2, politics: 0.1 } }),
    exclude_topics: z.array(z.string()).openapi({ example: ['spoilers'] }),
    updated_at: timestamp('last change; null: never set').nullable(),
  })
  .openapi('UserInterestProfile')
