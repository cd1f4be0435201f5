import { html } from 'hono/html'
import { WORLDWIDE } from '../../../schemas/trends/places/regions.ts'
import type { TableReader } from '../../../state/tables/reader.ts'
import { readVolumesOfTerms } from '../../../state/tables/trends/volumes-of-terms.ts'
import type { Answer } from '../../kit/answer.ts'
import { withDeadline } from '../../kit/deadline.ts'
import { ApiError, errorHeaders, errors } from '../../kit/errors.ts'
import type { Facts } from '../../kit/facts.ts'
import { pageFiles } from '../../kit/page/files.ts'
import { type BoundRoute, bind } from '../../kit/route.ts'
import { shortCache } from '../../kit/short-cache.ts'
import type { HistoryQuery } from '../history.ts'
import { zeroFilled } from '../history-steps.ts'
import type { TrendLists } from '../lists.ts'
import { placesNamed } from '../place-names.ts'
import { knownRegion } from '../regions.ts'
import { historyMustBeWhole } from '../whole-history.ts'
import { pageAnswer, startAddress } from './layout.ts'
import { type Days, listPage, placesFound, type TrendList } from './list-page.ts'
import { termPageRoute, trendsFileRoute, trendsPageRoute } from './routes.ts'
import { type History, RANGES, type Range, termPage } from './term-page.ts'

export interface TrendsPageDeps {
  readonly lists: Pick<TrendLists, 'plain'>
  readonly tables: TableReader
  readonly facts: Pick<Facts, 'partitionsOf'>
  /** Reads a history in the same way as `GET /v1/trends/{term}/history`, and throws the same errors. */
  readHistory(query: HistoryQuery): Promise<Answer>
  /** Epoch ms. */
  now(): number
}

type Parameter = string | readonly string[] | undefined

const ENTRIES = 30
const CURVE_HOURS = 24
const CURVE_STEP_MS = 30 * 60_000
const CURVE_STEPS = (CURVE_HOURS * 3_600_000) / CURVE_STEP_MS
/**
 * How long curves are cached. Only the last step of a curve can still change, so a cached curve hardly differs from a
 * new one.
 */
const CURVES_KEPT_MS = 30_000
/**
 * How long a page waits for its curves. They usually take a tenth of a second. Without this limit, a page would take
 * 6 s if ClickHouse does not respond.
 */
const CURVES_WITHIN_MS = 1_000
/** Maximum number of lists whose curves are cached. The curves of a list take about 12 kB. */
const MOST_KEPT_CURVES = 600
/** Maximum length of a search text. No place has a longer name. */
const MOST_PLACE_CHARACTERS = 100
/** Matches integers of at most 10 digits. Woeids are 32-bit numbers, so they have no more digits. */
const WOEID = /^\d{1,10}$/

const TITLES: Readonly<Record<string, string>> = {
  unknown_location: 'This place has no trends',
  invalid_request: 'This address is not valid',
}
const TRY_AGAIN = 'Please try again in a minute.'
/**
 * Messages for visitors of the pages. The default messages of these errors are meant for callers of the API: they say
 * what to request, or mention servers and views.
 */
const MESSAGES: Readonly<Record<string, string>> = {
  unknown_location: 'The number in this address belongs to no place with trends. You can find places by name.',
  unavailable: TRY_AGAIN,
  not_ready: TRY_AGAIN,
}

/** Creates the routes of the trends pages. The server renders these pages. */
export function trendsPages({ lists, tables, facts, readHistory, now }: TrendsPageDeps): BoundRoute[] {
  const files = pageFiles({ folder: new URL('./files/', import.meta.url), files: ['style.css'] })
  const curves = shortCache({ load: loadDays, keptMs: CURVES_KEPT_MS, maxEntries: MOST_KEPT_CURVES, now })

  async function loadDays(key: string): Promise<Days> {
    const { woeid, terms } = JSON.parse(key) as { readonly woeid: number; readonly terms: readonly string[] }
    const to = Math.floor(now() / CURVE_STEP_MS) * CURVE_STEP_MS + CURVE_STEP_MS
    const steps = { stepMs: CURVE_STEP_MS, from: to - CURVE_STEPS * CURVE_STEP_MS, to }
    const byTerm = await readVolumesOfTerms(tables, { woeid, terms, ...steps })
    await historyMustBeWhole(tables, facts)
    return new Map(terms.map((term) => [term, zeroFilled(steps, byTerm.get(term) ?? new Map())]))
  }

  async function daysOf(woeid: number, { trends }: TrendList): Promise<Days | undefined> {
    const terms = trends.map(({ term }) => term).toSorted()
    // If reading the curves fails or takes too long, the list is shown without them.
    const reading = curves.get(JSON.stringify({ woeid, terms }))
    return await withDeadline(reading, CURVES_WITHIN_MS, () => new Error('no answer in time')).catch(() => undefined)
  }

  async function list(query: { readonly woeid?: Parameter; readonly q?: Parameter; readonly safe?: Parameter }): Promise<Answer> {
    const q = one(query.q)?.slice(0, MOST_PLACE_CHARACTERS).trim() ?? ''
    const safe = one(query.safe) === 'true'
    return await orErrorPage(safe, async () => {
      if (q !== '') return await pageAnswer(200, `${q} – Trends`, { q, safe }, placesFound(q, placesNamed(q), safe))
      const region = knownRegion(woeidOf(query.woeid))
      const answer = await lists.plain(region, ENTRIES, safe)
      const found = jsonOf<TrendList>(answer)
      return await pageAnswer(200, `${region.name} – Trends`, { safe }, listPage(found, region, safe, await daysOf(region.woeid, found)))
    })
  }

  async function term(
    text: string,
    query: { readonly woeid?: Parameter; readonly range?: Parameter; readonly safe?: Parameter },
  ): Promise<Answer> {
    const safe = one(query.safe) === 'true'
    return await orErrorPage(safe, async () => {
      const region = knownRegion(woeidOf(query.woeid))
      const asked = one(query.range) ?? 'day'
      const range: Range = Object.hasOwn(RANGES, asked) ? (asked as Range) : 'day'
      const { hours, resolution } = RANGES[range]
      const history = jsonOf<History>(await readHistory({ woeid: region.woeid, term: text, hours, resolution }))
      return await pageAnswer(200, `${text} – Trends`, { safe }, termPage(history, region, range, safe))
    })
  }

  return [
    bind(trendsPageRoute, ({ query }) => list(query)),
    bind(termPageRoute, ({ params, query }) => term(params.term, query)),
    bind(trendsFileRoute, ({ params: { file } }) => files.file(file)),
  ]
}

/**
 * Returns the first value of a parameter that is not empty. Forms also send empty fields, so an empty value is treated
 * as omitted.
 */
function one(value: Parameter): string | undefined {
  return [value ?? []].flat().find((each) => each !== '')
}

function woeidOf(value: Parameter): number {
  const text = one(value) ?? String(WORLDWIDE)
  if (!WOEID.test(text)) throw new ApiError(errors.invalid_request, { message: 'woeid must be the number of a place.' })
  return Number(text)
}

/** Reads the JSON of an API answer, so that pages show exactly the same data as the API. */
function jsonOf<T>({ body }: Answer): T {
  return JSON.parse(typeof body === 'string' ? body : Buffer.from(body as Uint8Array).toString()) as T
}

async function orErrorPage(safe: boolean, work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const { status, code } = error.definition
    const title = TITLES[code] ?? 'This page cannot be shown now'
    const page = await pageAnswer(
      status,
      title,
      { safe },
      html`<h1>${title}</h1><p>${MESSAGES[code] ?? error.message}</p><p><a href="${startAddress(safe)}">Show the trends worldwide</a></p>`,
    )
    return { ...page, headers: { ...page.headers, ...errorHeaders(error) } }
  }
}
