import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { EngineAnswer, EngineRequest } from './engine.ts'
import { EngineError } from './engine.ts'
import { CLICKHOUSE_USER } from './password.ts'

/** An HTTP request to ClickHouse's interface. It contains the query text, the settings and the other parameters. */
export interface HttpRequest {
  readonly method: string
  readonly url: URL
  readonly headers: IncomingHttpHeaders
  /** The decompressed body. */
  readonly body: Buffer
}

/**
 * Parameters of the HTTP interface itself that are neither rejected nor ignored. Of the parameters that are in none of
 * the three lists, `param_*` are query parameters and the rest are settings.
 */
const OWN_PARAMETERS = new Set(['query', 'database', 'default_format', 'query_id', 'user', 'password'])
/**
 * Parameters that are rejected unless their value is empty or 0, because ignoring them would mislead callers that rely
 * on them.
 */
const REFUSED_PARAMETERS: Readonly<Record<string, string>> = {
  session_id: 'sessions, because every request is independent here',
  role: 'roles',
  compress: "compression in ClickHouse's own block format; use enable_http_compression=1 with Accept-Encoding: gzip",
  decompress: "compression in ClickHouse's own block format; use Content-Encoding: gzip",
}
/**
 * Parameters that are not passed to the engine. Most of them control how a response is streamed, but this server
 * responds only when the query is complete. The parameters of sessions and quotas have no effect, because this server
 * has neither. `wantsGzip` reads `enable_http_compression`.
 */
const IGNORED_PARAMETERS = new Set([
  'wait_end_of_query',
  'buffer_size',
  'send_progress_in_http_headers',
  'http_headers_progress_interval_ms',
  'enable_http_compression',
  'session_timeout',
  'session_check',
  'quota_key',
  'client_protocol_version',
  'stacktrace',
])
const PARAMETER_PREFIX = 'param_'
const DEFAULT_FORMAT = 'TabSeparated'
const NOT_IMPLEMENTED = 48

/** @throws EngineError for features that the local server lacks */
export function engineRequest({ method, url, headers, body }: HttpRequest): EngineRequest {
  const settings = new Map<string, string>()
  const parameters = new Map<string, string>()
  for (const [name, value] of url.searchParams) {
    if (name in REFUSED_PARAMETERS && value !== '' && value !== '0') {
      const what = REFUSED_PARAMETERS[name]
      throw new EngineError(
        NOT_IMPLEMENTED,
        `Code: ${NOT_IMPLEMENTED}. DB::Exception: The local ClickHouse has no ${what}. (NOT_IMPLEMENTED)`,
      )
    }
    if (name.startsWith(PARAMETER_PREFIX)) parameters.set(name.slice(PARAMETER_PREFIX.length), value)
    else if (!OWN_PARAMETERS.has(name) && !IGNORED_PARAMETERS.has(name) && !(name in REFUSED_PARAMETERS)) settings.set(name, value)
  }
  const query = url.searchParams.get('query')
  return {
    sql: query ?? body.toString(),
    data: query === null ? NOTHING : body,
    database: url.searchParams.get('database') ?? header(headers, 'x-clickhouse-database'),
    settings,
    parameters,
    defaultFormat: url.searchParams.get('default_format') ?? header(headers, 'x-clickhouse-format') ?? DEFAULT_FORMAT,
    readOnly: method === 'GET',
  }
}

const NOTHING = Buffer.alloc(0)

/**
 * Returns the user and password of a request. ClickHouse accepts them as basic authentication, in its own headers, or
 * as query parameters.
 */
export function credentialsOf({ url, headers }: Pick<HttpRequest, 'url' | 'headers'>): { user: string; password: string } {
  const [scheme, encoded] = (headers.authorization ?? '').split(' ')
  if (scheme.toLowerCase() === 'basic' && encoded !== undefined) {
    const text = Buffer.from(encoded, 'base64').toString()
    const colon = text.indexOf(':')
    return colon < 0 ? { user: text, password: '' } : { user: text.slice(0, colon), password: text.slice(colon + 1) }
  }
  return {
    user: header(headers, 'x-clickhouse-user') ?? url.searchParams.get('user') ?? CLICKHOUSE_USER,
    password: header(headers, 'x-clickhouse-key') ?? url.searchParams.get('password') ?? '',
  }
}

/** Returns the headers of a successful response. */
export function answerHeaders(queryId: string, answer: EngineAnswer): Record<string, string> {
  return {
    'content-type': contentType(answer.format),
    'x-clickhouse-query-id': queryId,
    'x-clickhouse-format': answer.format,
    'x-clickhouse-summary': JSON.stringify({
      read_rows: String(answer.rowsRead),
      read_bytes: String(answer.bytesRead),
      elapsed_ns: String(Math.round(answer.elapsedSeconds * NANOSECONDS)),
    }),
  }
}

const NANOSECONDS = 1e9

/**
 * Returns the query id for the response headers. Creates a new id if the request has none, or if its id contains
 * characters that a header must not contain.
 */
export function queryIdOf(url: URL): string {
  const given = url.searchParams.get('query_id')
  return given !== null && HEADER_TEXT.test(given) ? given : randomUUID()
}

/** Matches printable ASCII text, which HTTP allows in every header. */
const HEADER_TEXT = /^[\x20-\x7e]+$/

/**
 * Returns true if the response should be compressed. As in ClickHouse, Accept-Encoding alone is not enough: the request
 * must also contain `enable_http_compression=1`.
 */
export function wantsGzip({ url, headers }: Pick<HttpRequest, 'url' | 'headers'>): boolean {
  return url.searchParams.get('enable_http_compression') === '1' && /\bgzip\b/.test(header(headers, 'accept-encoding') ?? '')
}

function contentType(format: string): string {
  if (format.startsWith('JSON')) return 'application/json; charset=UTF-8'
  if (format.startsWith('CSV')) return 'text/csv; charset=UTF-8'
  if (format.startsWith('TabSeparated') || format.startsWith('TSV')) return 'text/tab-separated-values; charset=UTF-8'
  return 'application/octet-stream'
}

function header(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value[0] : value
}
