import { z } from '@hono/zod-openapi'
import { errors } from '../kit/errors.ts'
import { defineRoute } from '../kit/route.ts'
import { CSV_TYPE } from './click-export.ts'
import { linksErrors } from './errors.ts'

const codeParams = z.object({ short_code: z.string().openapi({ example: '3xK9dQa' }) })
const timestamp = z.iso.datetime()
const rangeEnd = z.iso.datetime({ offset: true, error: 'must be a time in ISO 8601 with seconds and a zone, such as 2026-01-15T12:00:00Z' })

const entries = z.array(
  z.object({
    value: z.string(),
    clicks: z.int(),
    over: z.int().openapi({
      description:
        'The largest number by which `clicks` can be too high. It is 0 unless the clicks of the link have more than 256 different values of this kind.',
    }),
  }),
)

const LinkStatsSchema = z
  .object({
    short_code: z.string().openapi({ example: '3xK9dQa' }),
    total_clicks: z.int().openapi({ description: 'All clicks, including those of bots.' }),
    clicks_today: z.int().openapi({ description: 'Clicks since midnight UTC, including those of bots.' }),
    bot_clicks: z.int().openapi({ description: 'Clicks made by crawlers, link previews and programs.' }),
    unique_clicks: z.int().openapi({ description: 'Number of visitors, not counting bots. A visitor is counted once per UTC day.' }),
    unique_is_exact: z.boolean().openapi({
      description: 'Whether `unique_clicks` is exact. Above 1,024 visitors, it is an estimate with a standard error of 1.15 %.',
    }),
    top_referrers: z.array(z.string()).openapi({
      description:
        'Sites that referred visitors, most clicks first: registrable domains, hosts that have no registrable domain, or package names of mobile apps. `direct` stands for clicks without a referrer, and `unknown` for referrers without a host. Bots are not counted.',
    }),
    top_countries: z
      .array(z.string())
      .openapi({ description: 'Countries of visitors, most clicks first, as ISO 3166-1 alpha-2 codes or `unknown`.' }),
    top_browsers: z.array(z.string()),
    top_devices: z.array(z.string()).openapi({ description: '`desktop`, `mobile`, `tablet`, `tv` or `unknown`.' }),
    counts: z
      .object({ referrers: entries, countries: entries, browsers: entries, devices: entries })
      .openapi({ description: 'The same lists as `top_*`, with the number of clicks of each value.' }),
    clicks_per_hour: z.array(z.object({ hour: timestamp, clicks: z.int() })).openapi({
      description:
        'Clicks in each of the last 48 hours, including clicks of bots. The oldest hour comes first, and the current hour is last.',
    }),
    analytics: z.boolean().openapi({ description: 'false if the clicks of this link are not counted.' }),
    created_at: timestamp,
    as_of: timestamp.openapi({
      description: 'The statistics include every click that was stored by this time, which is usually a few seconds in the past.',
    }),
  })
  .openapi('LinkStats')

export const statsRoute = defineRoute({
  method: 'get',
  path: '/api/v1/urls/{short_code}/stats',
  countsAs: '/api/v1/urls/{short_code}/stats',
  operationId: 'linkStats',
  summary: "Get a link's statistics",
  description:
    'Returns the statistics of one of your own links or, with the scope `admin`, of any link. The link may be expired or switched off. A click is counted within seconds.',
  auth: { kind: 'user' },
  params: codeParams,
  answers: { 200: { description: 'The statistics.', schema: LinkStatsSchema } },
  errors: [linksErrors.url_not_found, errors.not_ready],
})

export const exportRoute = defineRoute({
  method: 'get',
  path: '/api/v1/urls/{short_code}/clicks.csv',
  countsAs: '/api/v1/urls/{short_code}/clicks.csv',
  operationId: 'exportClicks',
  summary: 'Export the clicks of a link as CSV',
  description:
    'Returns the clicks of one of your own links or, with the scope `admin`, of any link. The export covers the last 90 days, oldest clicks first, and does not contain the addresses of visitors. Cells that a spreadsheet would execute as formulas begin with an apostrophe.',
  auth: { kind: 'user' },
  params: codeParams,
  query: z.object({
    from: rangeEnd.optional().openapi({ description: 'Start of the range (inclusive). Default: 90 days ago.' }),
    to: rangeEnd.optional().openapi({ description: 'End of the range (exclusive). Default: now.' }),
  }),
  answers: { 200: { description: 'Columns: clicked_at, referrer, country, browser, device, bot.', mediaType: CSV_TYPE } },
  errors: [linksErrors.url_not_found, errors.query_too_large, errors.not_ready, errors.unavailable],
})
