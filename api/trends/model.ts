import { z } from '@hono/zod-openapi'

const timestamp = (description: string) => z.iso.datetime().openapi({ description, example: '2026-01-15T12:00:00.000Z' })

const TrendEntrySchema = z
  .object({
    rank: z.int().min(1).openapi({ description: 'Position in the list, counted from 1.' }),
    name: z.string().openapi({ description: 'The hashtag or phrase in its most common spelling.', example: '#MondayMotivation' }),
    query: z.string().openapi({ description: 'The name in URL-encoded form.', example: '%23MondayMotivation' }),
    term: z.string().openapi({
      description: 'The folded form of the name without #, by which tweets are counted. Use it as {term} to read the history.',
      example: 'mondaymotivation',
    }),
    tweet_volume: z.int().openapi({ description: 'Tweets in the last 60 minutes.' }),
    volume_24h: z.int(),
    velocity: z.number().openapi({ description: 'Current volume divided by the volume one hour ago.' }),
    velocity_vs_usual: z.number().openapi({ description: 'Current volume divided by the usual volume at this hour of the week.' }),
    label: z.enum(['Trending', 'Viral']).nullable().openapi({
      description:
        '`Trending` above 3 times the usual volume, `Viral` above 10 times. Except in posted lists, a label needs at least 20 users.',
    }),
    trending_since: timestamp('When the trend entered the top 30; below the top 30 and in posted lists, the end of the counted window.'),
    sample_tweets: z.array(z.string()).openapi({ description: 'Ids of the newest tweets, at most 3.', example: ['1234567890123456789'] }),
    rank_change: z.int().nullable().openapi({
      description:
        'Ranks gained since a list that is usually 10 to 20 minutes old; null if the trend is not in the top 30 of both lists, and in posted lists.',
      example: 3,
    }),
    peak_rank: z
      .int()
      .min(1)
      .nullable()
      .openapi({ description: 'The best rank since `trending_since`; null below the top 30 and in posted lists.', example: 2 }),
    lang: z
      .string()
      .nullable()
      .openapi({ description: 'The most common language of the newest tweets, as an ISO 639 code; null if unknown.', example: 'en' }),
    users: z.int().nullable().openapi({
      description: 'Number of different users whose tweets are counted in `tweet_volume`; null in posted lists.',
      example: 1204,
    }),
    variants: z
      .array(z.string())
      .openapi({ description: 'Names of other terms that share most of their tweets with this term.', example: ['#bostonmarathon'] }),
    related: z.array(z.string()).openapi({
      description: 'Names of the trends that have the most tweets in common with this trend, at most 3.',
      example: ['red sox'],
    }),
    typical_tweet: z.string().nullable().openapi({
      description:
        'Id of a tweet from this trend that also contains many other terms among the best 100; null for terms below the best 100, for terms with fewer than 4 tweets and in posted lists.',
      example: '1234567890123456789',
    }),
  })
  .openapi('TrendEntry')

export const TrendListSchema = z
  .object({
    as_of: timestamp('End of the counted window.'),
    ttl_s: z.int().openapi({ example: 60 }),
    location: z.object({ woeid: z.int(), name: z.string() }).openapi({ example: { woeid: 1, name: 'Worldwide' } }),
    complete: z.boolean().openapi({ description: 'Whether all partitions of the pipeline have contributed.' }),
    missing_partitions: z
      .int()
      .min(0)
      .openapi({ description: 'Number of partitions of the pipeline that have not contributed.', example: 0 }),
    personalized: z.boolean().openapi({ description: "Whether the list was reranked by the caller's interests." }),
    trends: z.array(TrendEntrySchema),
  })
  .openapi('TrendList')

const LATER = 'null in lists that were stored before this field existed.'

export const PastListSchema = z
  .object({
    as_of: timestamp('End of the counted window.'),
    location: z.object({ woeid: z.int(), name: z.string() }).openapi({ example: { woeid: 1, name: 'Worldwide' } }),
    trends: z.array(
      TrendEntrySchema.omit({ rank_change: true, peak_rank: true, lang: true, related: true, typical_tweet: true })
        .extend({
          volume_24h: z
            .int()
            .nullable()
            .openapi({ description: `Number of tweets in the current hour and the 24 full hours before it; ${LATER}` }),
          velocity_vs_usual: z
            .number()
            .nullable()
            .openapi({ description: `Volume at that time divided by the usual volume; ${LATER}` }),
          users: z.int().nullable().openapi({
            description: 'Number of different users; null in posted lists and in lists that were stored before this field existed.',
          }),
          trending_since: timestamp(`When the term entered the top 30; ${LATER}`).nullable(),
        })
        .openapi('PastTrendEntry'),
    ),
  })
  .openapi('PastTrendList')

export const LocationSchema = z
  .object({
    woeid: z.int(),
    name: z.string(),
    type: z.enum(['Supername', 'Country', 'Town']),
    parent: z.int().nullable().openapi({ description: 'Woeid of the enclosing region; null for Worldwide.' }),
    country_code: z.string().nullable().openapi({ description: 'Country code according to ISO 3166-1 alpha-2; null for Worldwide.' }),
  })
  .openapi('Location')

export const ClosestSchema = LocationSchema.extend({
  distance_km: z.int().min(0).openapi({ description: 'Distance from the position to the centre of the city, in whole kilometres.' }),
}).openapi('ClosestLocation')

export const HistorySchema = z
  .object({
    term: z.string().openapi({ description: 'The term as given in the request.' }),
    woeid: z.int(),
    resolution: z.string(),
    data_points: z.array(
      z.object({
        ts: timestamp('Start of the step. `resolution` is the length of a step.'),
        volume: z.int().openapi({ description: 'Number of tweets in the step.' }),
      }),
    ),
  })
  .openapi('TrendHistory')

export const InterestsSchema = z
  .object({
    user_id: z.string(),
    topic_weights: z.record(z.string(), z.number()).openapi({ example: { football: 2, politics: 0.1 } }),
    exclude_topics: z.array(z.string()).openapi({ example: ['spoilers'] }),
    updated_at: timestamp('Time of the last change; null if the interests were never set.').nullable(),
  })
  .openapi('UserInterestProfile')
