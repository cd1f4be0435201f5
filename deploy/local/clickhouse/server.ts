import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { pipeline } from 'node:stream'
import { promisify } from 'node:util'
import { createGunzip, gzip } from 'node:zlib'
import { browserRefusal } from '../../../runtime/browser-guard.ts'
import { type Engine, EngineError } from './engine.ts'
import { statusOfError } from './http-status.ts'
import { CLICKHOUSE_USER, isSamePassword } from './password.ts'
import { answerHeaders, credentialsOf, engineRequest, queryIdOf, wantsGzip } from './protocol.ts'

const compress = promisify(gzip)

/**
 * Maximum size of a decompressed request body. The largest bodies are the batches that sinks insert, a few megabytes
 * each.
 */
const MAX_BODY_BYTES = 256 * 1024 * 1024
/**
 * Maximum size of the URL and the headers together. The URL contains the parameters of the query. ClickHouse also
 * allows a URL of 1 MB (`http_max_uri_size`).
 */
const MAX_HEADER_BYTES = 1024 * 1024
const QUERY_IS_TOO_LARGE = 307
const ZLIB_INFLATE_FAILED = 354
const INTERNAL = 1002
const ACCESS_DENIED = 497
const AUTHENTICATION_FAILED = 516
/** HTTP status for a request whose target is not a valid URL, such as `//`. */
const BAD_REQUEST = 400
/**
 * How long client sockets stay open between requests. ClickHouse's default is also 10 s, and ClickHouse's client relies
 * on it.
 */
const KEEP_ALIVE_MS = 10_000

/**
 * Serves the engine over ClickHouse's HTTP interface, which `@clickhouse/client`, curl and BI tools use. Refuses
 * requests from web pages.
 * @param password the password of the user `default`
 */
export function clickhouseServer(engine: Engine, password: string): Server {
  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = URL.parse(request.url ?? '/', 'http://localhost')
    if (url === null) {
      response.writeHead(BAD_REQUEST).end('The address is malformed.\n')
      return
    }
    const refusal = browserRefusal(request.headers)
    if (refusal !== undefined) {
      fail(response, queryIdOf(url), new EngineError(ACCESS_DENIED, refused(ACCESS_DENIED, refusal, 'ACCESS_DENIED')))
      return
    }
    if (url.pathname === '/ping' || (request.method === 'GET' && !url.searchParams.has('query'))) {
      response.end('Ok.\n')
      return
    }
    const queryId = queryIdOf(url)
    try {
      assertCredentials(url, request)
      const body = await bodyOf(request)
      const answer = await engine.execute(engineRequest({ method: request.method ?? 'POST', url, headers: request.headers, body }))
      const headers = answerHeaders(queryId, answer)
      if (answer.bytes.length > 0 && wantsGzip({ url, headers: request.headers })) {
        response.writeHead(200, { ...headers, 'content-encoding': 'gzip' }).end(await compress(answer.bytes))
      } else response.writeHead(200, headers).end(answer.bytes)
    } catch (error) {
      fail(response, queryId, error instanceof EngineError ? error : new EngineError(INTERNAL, (error as Error).message))
    }
  }

  function assertCredentials(url: URL, { headers }: IncomingMessage): void {
    const given = credentialsOf({ url, headers })
    if (given.user === CLICKHOUSE_USER && isSamePassword(given.password, password)) return
    const reason = `${given.user}: Authentication failed: password is incorrect, or there is no user with such name`
    throw new EngineError(AUTHENTICATION_FAILED, refused(AUTHENTICATION_FAILED, reason, 'AUTHENTICATION_FAILED'))
  }

  const options = { keepAliveTimeout: KEEP_ALIVE_MS, maxHeaderSize: MAX_HEADER_BYTES }
  const server = createServer(options, (request, response) => void handle(request, response))
  // There is no time limit for receiving a request, because the upload of a large insert may take arbitrarily long.
  server.requestTimeout = 0
  return server
}

function refused(code: number, reason: string, name: string): string {
  return `Code: ${code}. DB::Exception: ${reason}. (${name})`
}

function fail(response: ServerResponse, queryId: string, { code, message }: EngineError): void {
  response
    .writeHead(statusOfError(code), {
      'content-type': 'text/plain; charset=UTF-8',
      'x-clickhouse-query-id': queryId,
      'x-clickhouse-exception-code': String(code),
    })
    .end(`${message}\n`)
}

async function* inflated(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  try {
    yield* source
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    if (!code.startsWith('Z_')) throw error
    throw new EngineError(
      ZLIB_INFLATE_FAILED,
      refused(ZLIB_INFLATE_FAILED, `The body is not complete gzip data: ${message}`, 'ZLIB_INFLATE_FAILED'),
    )
  }
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  // Unlike `pipe`, `pipeline` makes the read fail if the connection breaks during the upload.
  const source = request.headers['content-encoding'] === 'gzip' ? pipeline(request, createGunzip(), () => undefined) : request
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of inflated(source)) {
    bytes += chunk.length
    if (bytes > MAX_BODY_BYTES) {
      const message = `Code: ${QUERY_IS_TOO_LARGE}. DB::Exception: The body is larger than ${MAX_BODY_BYTES} bytes. (TOO_MANY_BYTES)`
      throw new EngineError(QUERY_IS_TOO_LARGE, message)
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
