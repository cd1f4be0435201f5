import { waitUntil } from '../../deploy/local/wait.ts'
import { regions, WORLDWIDE } from '../../schemas/trends/places/regions.ts'
import { trendVolumesTable } from '../../state/tables/trends/trend-volumes.ts'
import { liftSeededLimits } from '../harness/lift-limits.ts'
import { startApiProcess, untilReady } from '../harness/node-process.ts'
import { type BenchServers, startServers } from '../harness/servers.ts'
import { quantile, row } from '../harness/table.ts'
import { startWorker } from '../harness/worker.ts'

/** One day less than the retention of the table, so that no row expires during the benchmark. */
const DAYS = 89
const MINUTES_PER_DAY = 1_440
const HOURS_PER_DAY = 24
const MS_PER_MINUTE = 60_000
const TERM = 'good morning'
const REQUESTS = 200
const TABLES_TIMEOUT_MS = 60_000
/**
 * How long to wait for merges. Unlike in production, the table is filled within a minute, and ClickHouse then merges
 * all of its rows.
 */
const MERGES_TIMEOUT_MS = 150_000
const MERGES_EVERY_MS = 1_000

interface HistoryServers {
  readonly servers: BenchServers
  readonly url: string
  stop(): Promise<void>
}

/** Starts servers and fills the table with a term that occurs in every region in every minute of the last 89 days. */
export async function startHistoryServers(folder: string): Promise<HistoryServers> {
  const servers = await startServers(folder)
  const parts: { stop(): Promise<void> }[] = []
  async function stop(): Promise<void> {
    for (const part of parts) await part.stop()
    await servers.stop()
  }
  try {
    await liftSeededLimits(servers)
    // The worker creates the tables and marks them as complete.
    parts.push(await startWorker(servers, 0, []))
    const api = await startApiProcess([], { ...servers.env, API_PORT: '0', API_SERVICES: 'trends', LOG_LEVEL: 'info' })
    parts.unshift(api)
    const url = api.line.url as string
    await untilReady(url)
    const isWhole = async () => (await fetch(url + SCENARIOS[0].pathOf(REQUESTS))).ok
    await waitUntil(isWhole, { what: 'complete volume tables', timeoutMs: TABLES_TIMEOUT_MS })
    const now = Math.floor(Date.now() / MS_PER_MINUTE) * MS_PER_MINUTE
    for (let day = DAYS; day > 0; day--) await servers.execute(insertOf(now - day * MINUTES_PER_DAY * MS_PER_MINUTE))
    return { servers, url, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Returns the statement that inserts a volume for every region and every minute of the day that begins at `from`. */
function insertOf(from: number): string {
  const woeids = regions.map(({ woeid }) => woeid).join(',')
  return `INSERT INTO ${trendVolumesTable.name} (woeid, term, minute, volume, kafka_topic, kafka_partition, kafka_offset)
    SELECT arrayJoin([${woeids}]) AS woeid, '${TERM}', toDateTime(${from / 1_000} + number * 60), 1 + rand() % 1000, 'bench', 0, number
    FROM numbers(${MINUTES_PER_DAY})`
}

interface Scenario {
  readonly name: string
  pathOf(request: number): string
}

const cities = regions.filter(({ type }) => type === 'Town')

/**
 * The kinds of requests to measure. Each request has a different path, because the API caches a history for a few
 * seconds.
 */
const SCENARIOS: readonly Scenario[] = [
  { name: 'world, 1 to 9 days in 5m', pathOf: (request) => pathOf(WORLDWIDE, HOURS_PER_DAY + request, '5m') },
  { name: 'city, 24 h in 5m', pathOf: (request) => pathOf(cityOf(request), HOURS_PER_DAY, '5m') },
  { name: 'world, 81 to 89 days in 15m', pathOf: (request) => pathOf(WORLDWIDE, DAYS * HOURS_PER_DAY - request, '15m') },
  { name: 'city, 89 days in 15m', pathOf: (request) => pathOf(cityOf(request), DAYS * HOURS_PER_DAY, '15m') },
]

function cityOf(request: number): number {
  return cities[request % cities.length].woeid
}

function pathOf(woeid: number, hours: number, resolution: string): string {
  return `/v1/trends/${encodeURIComponent(TERM)}/history?woeid=${woeid}&hours=${hours}&resolution=${resolution}`
}

/** Requests histories sequentially and prints their latencies. */
export async function measureHistory({ servers, url }: HistoryServers, say: (text: string) => void): Promise<void> {
  const rows = await servers.query(`SELECT count() FROM ${trendVolumesTable.name}`)
  say(`${rows} rows of one term: ${regions.length} regions, every minute of ${DAYS} days`)
  const isMerged = async () => (await servers.query('SELECT count() FROM system.merges')) === 0
  await waitUntil(isMerged, { what: 'the merges of the new rows', timeoutMs: MERGES_TIMEOUT_MS, intervalMs: MERGES_EVERY_MS })
  say('| history | first ms | P50 ms | P99 ms | maximum ms |')
  say('| --- | --- | --- | --- | --- |')
  for (const { name, pathOf } of SCENARIOS) {
    const times: number[] = []
    for (let request = 0; request < REQUESTS; request++) times.push(await timeOf(url + pathOf(request)))
    const sorted = times.toSorted((a, b) => a - b)
    say(row([name, ...[times[0], quantile(sorted, 0.5), quantile(sorted, 0.99), sorted[sorted.length - 1]].map((ms) => ms.toFixed(1))]))
  }
}

async function timeOf(url: string): Promise<number> {
  const before = performance.now()
  const response = await fetch(url)
  const body = await response.text()
  if (response.status !== 200) throw new Error(`${url} returned status ${response.status}: ${body}`)
  const isCounted = /"volume":[1-9]/.test(body)
  if (!isCounted) throw new Error(`${url} returned no volumes`)
  return performance.now() - before
}
