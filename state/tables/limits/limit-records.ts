import type { TableReader } from '../trends/trends.ts'

/** What readers of records use of a ClickHouse client. */
export type TrafficReader = TableReader

const MS_PER_SECOND = 1_000
/** ClickHouse stops a query that takes longer: its caller has been told 503 by then. */
const MAX_EXECUTION_SECONDS = 5
/** A replay of so many rows takes a second or two. */
const MAX_TRAFFIC_ROWS = 500_000
const SETTINGS = { output_format_json_quote_64bit_integers: 0, max_execution_time: MAX_EXECUTION_SECONDS }

export interface TrafficQuery {
  /** Epoch ms. */
  readonly from: number
  readonly to: number
  /** A pattern's parts; `path` is the exact path or the prefix. */
  readonly pattern: { readonly method: string | undefined; readonly kind: 'exact' | 'prefix' | 'global'; readonly path: string }
  /** `*`: all. */
  readonly tier: string
}

/** Requests of one caller in one second. */
export interface TrafficRow {
  /** Epoch seconds. */
  readonly second: number
  readonly requests: number
  readonly caller: {
    readonly clientId: string
    readonly tier: string
    readonly apiKeyId: string | undefined
    readonly userId: string | undefined
    readonly ip: string
  }
}

const TRAFFIC_QUERY = `
SELECT toUnixTimestamp(second) AS at, client_id, tier, api_key_id, user_id, ip, sum(requests)
FROM limit_traffic FINAL
WHERE second >= toDateTime({from:UInt32}) AND second < toDateTime({to:UInt32})
  AND ({tier:String} = '*' OR tier = {tier:String})
  AND ({method:String} = '' OR method = {method:String})
  AND (({kind:String} = 'global') OR ({kind:String} = 'exact' AND path = {path:String}) OR ({kind:String} = 'prefix' AND startsWith(path, {path:String})))
GROUP BY at, client_id, tier, api_key_id, user_id, ip
ORDER BY at
LIMIT {rows:UInt32}`

const LEFT_OUT_QUERY = `
SELECT sum(left_out) FROM limit_traffic FINAL WHERE second >= toDateTime({from:UInt32}) AND second < toDateTime({to:UInt32})`

/** Requests that a rule of that pattern and tier would apply to, oldest first. */
export async function readTraffic(
  reader: TrafficReader,
  { from, to, pattern, tier }: TrafficQuery,
): Promise<{ readonly rows: Iterable<TrafficRow>; readonly leftOut: number; readonly truncated: boolean }> {
  const range = { from: Math.floor(from / MS_PER_SECOND), to: Math.floor(to / MS_PER_SECOND) }
  const { method = '', kind, path } = pattern
  const ask = <Row>(query: string, query_params: Record<string, unknown>) =>
    reader.query({ query, query_params, format: 'JSONCompactEachRow', clickhouse_settings: SETTINGS }).then((result) => result.json<Row>())
  const [found, [[leftOut]]] = await Promise.all([
    ask<AnsweredRow>(TRAFFIC_QUERY, {
      ...range,
      tier,
      method,
      kind,
      path,
      rows: MAX_TRAFFIC_ROWS,
    }),
    ask<[number]>(LEFT_OUT_QUERY, range),
  ])
  return { rows: trafficRows(found), leftOut, truncated: found.length === MAX_TRAFFIC_ROWS }
}

type AnsweredRow = [second: number, clientId: string, tier: string, apiKeyId: string, userId: string, ip: string, requests: number]

/** One at a time: whoever reads them may let others come in between. */
function* trafficRows(found: readonly AnsweredRow[]): Iterable<TrafficRow> {
  for (const [second, clientId, tier, apiKeyId, userId, ip, requests] of found) {
    yield { second, requests, caller: { clientId, tier, apiKeyId: apiKeyId || undefined, userId: userId || undefined, ip } }
  }
}

const AUDIT_QUERY = `
SELECT subject, action, actor, toUnixTimestamp64Milli(at), before, after
FROM limit_audit FINAL
WHERE {subject:String} = '' OR subject = {subject:String}
ORDER BY at DESC, kafka_partition DESC, kafka_offset DESC
LIMIT {limit:UInt32} OFFSET {offset:UInt32}`

export interface Page {
  readonly offset: number
  readonly limit: number
}

/** Changes of rules and API keys, newest first. @param subject undefined: all */
export async function readAudit(reader: TableReader, subject: string | undefined, page: Page) {
  const result = await reader.query({
    query: AUDIT_QUERY,
    query_params: { subject: subject ?? '', ...page },
    format: 'JSONCompactEachRow',
    clickhouse_settings: SETTINGS,
  })
  const rows = await result.json<[string, string, string, number, string | null, string | null]>()
  return rows.map(([of, action, actor, at, before, after]) => ({ subject: of, action, actor, at, before, after }))
}

const VIOLATIONS_QUERY = `
SELECT toUnixTimestamp(second), rule_id, client_id, method, path, action, estimate, limit_count
FROM limit_violations FINAL
WHERE ({rule:String} = '' OR rule_id = {rule:String}) AND ({client:String} = '' OR client_id = {client:String})
ORDER BY second DESC, rule_id, client_id
LIMIT {limit:UInt32} OFFSET {offset:UInt32}`

/** Requests over a limit, newest first. */
export async function readViolations(reader: TableReader, rule: string | undefined, client: string | undefined, page: Page) {
  const result = await reader.query({
    query: VIOLATIONS_QUERY,
    query_params: { rule: rule ?? '', client: client ?? '', ...page },
    format: 'JSONCompactEachRow',
    clickhouse_settings: SETTINGS,
  })
  const rows = await result.json<[number, string, string, string, string, string, number, number]>()
  return rows.map(([second, rule_id, client_id, method, path, action, estimate, limit]) => ({
    at: second * MS_PER_SECOND,
    rule_id,
    client_id,
    method,
    path,
    action,
    estimate,
    limit,
  }))
}
