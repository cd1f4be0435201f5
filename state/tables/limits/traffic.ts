import type { LimitTraffic } from '../../../schemas/limits/types.ts'
import { readRows, type TableReader } from '../reader.ts'
import type { Table } from '../table.ts'
import { isoTime } from '../time.ts'

/**
 * Retention in hours. Replays look back one hour; the second hour is a margin. Rows contain callers' addresses, so they
 * are not kept any longer.
 */
const TRAFFIC_HOURS = 2
const HOUR_MS = 3_600_000
const MS_PER_SECOND = 1_000
/** Maximum number of rows in a replay. A replay of this size takes a second or two. */
const MAX_TRAFFIC_ROWS = 500_000
/** Prefix of the client ids of callers with a client certificate. */
const CERTIFICATE = 'certificate:'

/** Requests, grouped by second, caller and path, for replays against draft rules. Fed by `limit-traffic`. */
export const limitTrafficTable: Table<string, LimitTraffic> = {
  name: 'limit_traffic',
  columns: [
    "second DateTime('UTC')",
    'node LowCardinality(String)',
    'client_id String',
    'tier LowCardinality(String)',
    'api_key_id String',
    'user_id String',
    'ip String',
    'method LowCardinality(String)',
    'path String',
    'requests UInt32',
    'refused UInt32',
    'left_out UInt32',
  ],
  orderBy: '(second, node, client_id, tier, api_key_id, user_id, ip, method, path)',
  partitionBy: 'toStartOfHour(second)',
  ttl: `second + INTERVAL ${TRAFFIC_HOURS} HOUR`,
  rowsOf(_node, traffic) {
    if (traffic === null) return []
    const { second, node, entries, left_out } = traffic
    // Only the first row contains `left_out`, so that sums count it once.
    return entries.map((entry, index) => ({ second: isoTime(second), node, ...entry, left_out: index === 0 ? left_out : 0 }))
  },
  partitionOf: (_node, { second }) => Math.floor(second / HOUR_MS),
}

export interface TrafficQuery {
  /** Epoch ms. */
  readonly from: number
  readonly to: number
  /** The parts of a rule's pattern; `path` is an exact path or a prefix. */
  readonly pattern: { readonly method: string | undefined; readonly kind: 'exact' | 'prefix' | 'global'; readonly path: string }
  /** `*` selects all tiers. */
  readonly tier: string
}

/** The requests of one caller in one second. */
export interface TrafficRow {
  /** Epoch seconds. */
  readonly second: number
  readonly requests: number
  readonly caller: {
    readonly clientId: string
    readonly tier: string
    readonly apiKeyId: string | undefined
    readonly userId: string | undefined
    readonly certificate: string | undefined
    readonly ip: string
  }
}

/**
 * A replay stops after `MAX_TRAFFIC_ROWS` rows. With these settings, ClickHouse reads and groups the traffic second by
 * second, and stops one row later. With several threads or in another order, it would group the whole hour first, which
 * takes six times as much CPU time and memory.
 */
const IN_ORDER = { optimize_aggregation_in_order: 1, max_threads: 1 }

/** All conditions are on columns of the sorting key, so PREWHERE may drop rows before FINAL compares them. */
const TRAFFIC_QUERY = `
SELECT toUnixTimestamp(second), client_id, tier, api_key_id, user_id, ip, sum(requests)
FROM limit_traffic FINAL
PREWHERE second >= toDateTime({from:UInt32}) AND second < toDateTime({to:UInt32})
  AND ({tier:String} = '*' OR tier = {tier:String})
  AND ({method:String} = '' OR method = {method:String})
  AND (({kind:String} = 'global') OR ({kind:String} = 'exact' AND path = {path:String}) OR ({kind:String} = 'prefix' AND startsWith(path, {path:String})))
GROUP BY second, client_id, tier, api_key_id, user_id, ip
ORDER BY second
LIMIT {rows:UInt32}`

/**
 * One row of each second and node contains `left_out`. A repeated insert may have stored this row twice, so the query
 * takes the maximum.
 */
const LEFT_OUT_QUERY = `
SELECT sum(number)
FROM (
  SELECT max(left_out) AS number FROM limit_traffic
  WHERE second >= toDateTime({from:UInt32}) AND second < toDateTime({to:UInt32}) AND left_out > 0
  GROUP BY second, node
)`

/**
 * Returns the requests to which a rule with this pattern and tier would apply, oldest first.
 * @returns `leftOut` is the number of requests of the period, to any path, that have no row. `truncated` is true if the
 * period has more rows than a replay may have.
 */
export async function readTraffic(
  reader: TableReader,
  { from, to, pattern, tier }: TrafficQuery,
): Promise<{ readonly rows: Iterable<TrafficRow>; readonly leftOut: number; readonly truncated: boolean }> {
  const range = { from: Math.floor(from / MS_PER_SECOND), to: Math.floor(to / MS_PER_SECOND) }
  const { method = '', kind, path } = pattern
  const [found, [[leftOut]]] = await Promise.all([
    readRows<AnsweredRow>(reader, TRAFFIC_QUERY, { ...range, tier, method, kind, path, rows: MAX_TRAFFIC_ROWS + 1 }, IN_ORDER),
    readRows<[number]>(reader, LEFT_OUT_QUERY, range),
  ])
  // The additional row only shows that there are more rows than the replay may have.
  const truncated = found.length > MAX_TRAFFIC_ROWS
  if (truncated) found.length = MAX_TRAFFIC_ROWS
  return { rows: trafficRows(found), leftOut, truncated }
}

type AnsweredRow = [second: number, clientId: string, tier: string, apiKeyId: string, userId: string, ip: string, requests: number]

/** Yields one row at a time, so that the caller can let other tasks run in between. */
function* trafficRows(found: readonly AnsweredRow[]): Iterable<TrafficRow> {
  for (const [second, clientId, tier, apiKeyId, userId, ip, requests] of found) {
    const certificate = clientId.startsWith(CERTIFICATE) ? clientId.slice(CERTIFICATE.length) : undefined
    yield { second, requests, caller: { clientId, tier, apiKeyId: apiKeyId || undefined, userId: userId || undefined, certificate, ip } }
  }
}
