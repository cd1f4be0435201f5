import { setTimeout as delay } from 'node:timers/promises'
import { type ProductIndex, productIndex } from '../../../api/catalog/search/engine/product-index.ts'
import { salesPercentile } from '../../../api/catalog/search/engine/sales-percentile.ts'
import { searcher } from '../../../api/catalog/search/searcher.ts'
import { NO_SYNONYMS } from '../../../api/catalog/search/text/synonyms.ts'
import { paceBesideSearches } from '../../../pipelines/indexes/pace-beside-searches.ts'
import { systemRuntime } from '../../../runtime/system.ts'
import type { CatalogDocument } from '../../../schemas/catalog/types.ts'
import { commandLine, runMain } from '../../../scripts/command-line/main.ts'
import { wordsOf } from '../../../state/indexes/catalog/words.ts'
import { searchClient } from '../../../state/indexes/client.ts'
import { indexReader } from '../../../state/indexes/reader.ts'
import { integer, type Random, seededRandom } from '../../../tools/random/random.ts'
import { inFolder } from '../../harness/folder.ts'
import { cpuSeconds } from '../../harness/process-stats.ts'
import { startServers } from '../../harness/servers.ts'
import { appendResults, quantile, row } from '../../harness/table.ts'
import { whereInstalled } from '../../peer-missing.ts'
import { type IndexLoad, indexLoad } from './index-load.ts'
import { atRate, inTurn, type Latencies } from './pace.ts'
import { startTantivy } from './peers/tantivy.ts'
import { productMaker } from './products.ts'
import { requestMaker } from './requests.ts'
import declaration from './run.command.ts'
import { vocabulary } from './vocabulary.ts'

const HEAP_MB = 1_024
/**
 * Duration of the warm-up of each round. Each round needs a warm-up, because each new kind of request makes the
 * server's JVM compile a few more methods.
 */
const ROUND_WARM_UP_SECONDS = 5
/**
 * Number of bulk requests per second, each with an equal share of the changes. The sink also sends four per second,
 * because it collects changes for 250 ms before each request.
 */
const BULKS_PER_SECOND = 4
const SEED = 11
/**
 * Name of the second index, which is filled while searches are measured. It differs from the name of the product index,
 * so that no search uses it.
 */
const REBUILT_INDEX = 'rebuilt'
/** Interval at which the search for a changed document is repeated, for at most `LOOK_MS`. */
const LOOK_EVERY_MS = 50
const LOOK_MS = 10_000
const MS_PER_SECOND = 1_000

const { products, rate, peak, changes, warm: warmUp, seconds, tantivy: withTantivy, folder: kept, note } = commandLine(declaration)

/**
 * Fills the index, unless an earlier run has already filled it. Returns how the index was filled, as text for the
 * report.
 */
async function filled(load: IndexLoad): Promise<string> {
  if (await load.isFilled(products)) return 'filled by an earlier run'
  const startedAt = performance.now()
  await load.fill(products)
  const filling = (performance.now() - startedAt) / MS_PER_SECOND
  return `filled in ${filling.toFixed(0)} s (${Math.round(products / filling)}/s)`
}

/**
 * Waits until searches find the product with its new price, and returns that moment as a `performance.now()` time.
 * After 10 s it stops waiting and returns the current time, because the price may have changed again.
 */
async function untilFound(index: ProductIndex, { product_id, price_cents }: CatalogDocument): Promise<number> {
  const query = { bool: { filter: [{ term: { product_id } }, { term: { price_cents } }] } }
  const end = performance.now() + LOOK_MS
  while (performance.now() < end) {
    const { hits } = await index.search({ size: 0, track_total_hits: 1, query })
    if (hits.total.value > 0) break
    await delay(LOOK_EVERY_MS)
  }
  return performance.now()
}

/** @param serverPid process id of the search server */
async function measure(url: string, serverPid: number): Promise<string[]> {
  const now = Date.now()
  const { source, make: titles, titles: all, queries } = vocabulary()
  const client = searchClient(url)
  const load = indexLoad(client, productMaker(titles, now))
  const lines = [
    `The index has ${products} products (${source}) and was ${await filled(load)}. ${changes} products change per second.`,
    '',
    row([
      'searches',
      'per second',
      'P50 ms',
      'P95 ms',
      'P99 ms',
      'failed',
      'CPU ms per search: this process',
      'server',
      'until a change is found, median and maximum ms',
    ]),
    row(['---', '---:', '---:', '---:', '---:', '---:', '---:', '---:', '---:']),
  ]
  for (const line of lines) process.stdout.write(`${line}\n`)

  const reader = indexReader(client)
  const index = productIndex(reader)
  const search = searcher({ index, percentile: salesPercentile(index, Date.now), synonyms: () => NO_SYNONYMS, now: Date.now })
  const make = requestMaker(queries, all)
  const direct = (random: Random) => {
    const query = { match: { words: { query: make(random).q, operator: 'and' } } }
    const aggs = Object.fromEntries(
      ['brand', 'category', 'price_band', 'rating_band', 'attributes'].map((field) => [field, { terms: { field, size: 50 } }]),
    )
    return index.search({ query, size: 24, track_total_hits: true, aggs })
  }

  /** Delays in ms, from the beginning of a change until a search finds it, in all rounds and in the current one. */
  const delays: number[] = []
  let delaysOfRound: number[] = []

  /**
   * Runs `searches`, changes products in the meantime, and returns the results of the searches.
   * @param length duration of the changes in seconds
   */
  async function whileChanging<T>(random: Random, length: number, searches: () => Promise<T>): Promise<T> {
    let bulks = 0
    delaysOfRound = []
    const change = async () => {
      const isWatched = bulks++ % BULKS_PER_SECOND === 0
      const startedAt = performance.now()
      const [first] = await load.change(Array.from({ length: Math.ceil(changes / BULKS_PER_SECOND) }, () => integer(random, products)))
      if (isWatched) delaysOfRound.push((await untilFound(index, first)) - startedAt)
    }
    const [found] = await Promise.all([searches(), changes === 0 ? undefined : atRate(BULKS_PER_SECOND, length, change)])
    delaysOfRound.sort((one, other) => one - other)
    delays.push(...delaysOfRound)
    return found
  }

  function report(name: string, perSecond: string, found: Latencies, used: readonly number[]): void {
    const times = [found.p50, found.p95, found.p99].map((ms) => ms.toFixed(1))
    const seen = delaysOfRound.length === 0 ? '' : [0.5, 1].map((share) => quantile(delaysOfRound, share).toFixed(0)).join(', ')
    const line = row([name, perSecond, ...times, found.failed, ...used.map((ms) => ms.toFixed(1)), seen])
    process.stdout.write(`${line}\n`)
    lines.push(line)
  }

  const cpu = () => [cpuSeconds(process.pid), cpuSeconds(serverPid)]
  const since = (before: readonly number[], count: number) => cpu().map((now, at) => ((now - before[at]) * MS_PER_SECOND) / count)

  /**
   * Warms up the server, which is slow until its JIT compiler has compiled its methods. This takes thousands of
   * searches.
   */
  async function warm(): Promise<void> {
    const random = seededRandom(SEED)
    const before = cpu()
    const found = await whileChanging(random, warmUp, () => inTurn(warmUp, () => search(make(random))))
    if (found.count > 0)
      report('warm-up: one search after another', `${(found.count / warmUp).toFixed(0)}`, found, since(before, found.count))
  }

  async function round(name: string, perSecond: number, call: (random: Random) => Promise<unknown>): Promise<void> {
    const random = seededRandom(SEED + perSecond)
    await atRate(Math.min(perSecond, rate), ROUND_WARM_UP_SECONDS, () => call(random))
    const before = cpu()
    const found = await whileChanging(random, seconds, () => atRate(perSecond, seconds, () => call(random)))
    report(name, String(perSecond), found, since(before, perSecond * seconds))
  }

  await warm()
  await round('search', rate, (random) => search(make(random)))
  await round('OpenSearch queried directly: all words, five facets, no filters or relevance', rate, direct)
  await round('search', peak, (random) => search(make(random)))
  await duringRebuild()
  delays.sort((one, other) => one - other)
  const seen = [0.5, 0.99, 1].map((share) => Math.round(quantile(delays, share)))
  lines.push(
    '',
    `Time until a change is found, without Kafka, ${delays.length} samples: P50 ${seen[0]} ms, P99 ${seen[1]} ms, maximum ${seen[2]} ms.`,
  )
  process.stdout.write(`${lines.at(-1)}\n`)
  if (withTantivy) await measureTantivy()
  return lines

  /**
   * Measures searches in the current index while another index is built, at the pace of a rebuild.
   */
  async function duringRebuild(): Promise<void> {
    const rebuilt = indexLoad(client, productMaker(titles, now), REBUILT_INDEX)
    const over = new AbortController()
    const startedAt = performance.now()
    const filling = rebuilt.fill(products, paceBesideSearches(systemRuntime(), over.signal), over.signal)
    await round('search while another index is filled', rate, (random) => search(make(random)))
    over.abort()
    const perSecond = (await filling) / ((performance.now() - startedAt) / MS_PER_SECOND)
    lines.push('', `The other index was filled with ${Math.round(perSecond)} products/s.`)
    process.stdout.write(`${lines.at(-1)}\n`)
    await rebuilt.remove()
  }

  async function measureTantivy(): Promise<void> {
    const tantivy = await whereInstalled('Tantivy', () => startTantivy(products, productMaker(titles, now)))
    if (tantivy === undefined) return
    const words = (random: Random) => wordsOf(make(random).q ?? '').map(({ text }) => text)
    const random = seededRandom(SEED)
    const before = cpuSeconds(tantivy.pid)
    const found = await atRate(rate, seconds, () => tantivy.search(words(random)))
    const used = ((cpuSeconds(tantivy.pid) - before) * MS_PER_SECOND) / (rate * seconds)
    delaysOfRound = []
    report('Tantivy: all words, five facets, one thread, no changes', String(rate), found, [0, used])
    tantivy.stop()
  }
}

await runMain(async () => {
  const inKept = kept === undefined ? inFolder : <T>(use: (folder: string) => Promise<T>) => use(kept)
  const lines = await inKept(async (folder) => {
    const servers = await startServers(folder, { names: ['search'], searchHeapMb: HEAP_MB })
    try {
      return await measure(servers.addresses.search!, servers.pids.search)
    } finally {
      await servers.stop()
    }
  })
  appendResults('bench:search', note, lines)
})
