import { z } from '@hono/zod-openapi'
import { errors } from '../kit/errors.ts'
import { defineRoute } from '../kit/route.ts'
import { CSV_TYPE } from './click-export.ts'
import { linksErrors } from './errors.ts'

const TAG = 'links'
const codeParams = z.object({ short_code: z.string().openapi({ example: '3xK9dQa' }) })
const timestamp = z.iso.datetime()

const entries = z.array(
  z.object({
    value: z.string(),
    clicks: z.int(),
    over: z.int().openapi({ description: '`clicks` may be too great by this much; 0: exact. A link with more than 256 values has some' }),
  }),
)

const LinkStatsSchema = z
  .object({
    short_code: z.string().openapi({ example: '3xK9dQa' }),
    total_clicks: z.int().openapi({ description: 'all clicks, those of bots included' }),
    clicks_today: z.int().openapi({ description: 'since midnight UTC, those of bots included' }),
    bot_clicks: z.int().openapi({ description: 'the part of total_clicks that crawlers, link previews and programs made' }),
    unique_clicks: z.int().openapi({ description: 'visitors per UTC day, bots left out' }),
    unique_is_exact: z.boolean().openapi({ description: 'false above 1,024 visitors: then an estimate with a standard error of 1.15 %' }),
    top_referrers: z
      .array(z.string())
      .openapi({ description: 'registrable hosts, best first, bots left out; `direct` without a referrer' }),
    top_countries: z.array(z.string()).openapi({ description: 'ISO 3166-1 alpha-2 or `unknown`' }),
    top_browsers: z.array(z.string()),
    top_devices: z.array(z.string()).openapi({ description: 'desktop, mobile, tablet, tv, unknown' }),
    counts: z
      .object({ referrers: entries, countries: entries, browsers: entries, devices: entries })
      .openapi({ description: 'the same lists with their clicks' }),
    clicks_per_hour: z
      .array(z.object({ hour: timestamp, clicks: z.int() }))
      .openapi({ description: 'the last 48 hours, the running one included, oldest first; those of bots included' }),
    analytics: z.boolean().openapi({ description: 'false: this link is not counted' }),
    created_at: timestamp,
    as_of: timestamp.openapi({ description: 'every click that had reached the log by then is counted; seconds ago' }),
  })
  .openapi('LinkStats')

export const statsRoute = defineRoute({
  method: 'get',
  path: '/api/v1/urls/{short_code}/stats',
  operationId: 'linkStats',
  summary: 'Who clicks a link',
  description:
    'Of your own links, or of any with the scope `admin`; of expired and switched off ones too. A click is counted within seconds: see `as_of`.',
  tag: TAG,
  auth: { kind: 'user' },
  params: codeParams,
  answers: { 200: { description: 'its statistics', schema: LinkStatsSchema } },
  errors: [linksErrors.url_not_found, errors.not_ready],
})

export const exportRoute = defineRoute({
  method: 'get',
  path: '/api/v1/urls/{short_code}/clicks.csv',
  operationId: 'exportClicks',
  summary: 'Every click of a link as CSV',
  description:
    'Of your own links, or of any with the scope `admin`: the last 90 days, oldest first, without addresses. Cells that a spreadsheet would take for a formula begin with an apostrophe.',
  tag: TAG,
  auth: { kind: 'user' },
  params: codeParams,
  query: z.object({
    from: timestamp.optional().openapi({ description: 'first moment; default: 90 days ago' }),
    to: timestamp.optional().openapi({ description: 'first moment that is left out; default: now' }),
  }),
  answers: { 200: { description: 'clicked_at, referrer, country, browser, device, bot', mediaType: CSV_TYPE } },
  errors: [linksErrors.url_not_found, errors.not_ready, errors.unavailable],
})
