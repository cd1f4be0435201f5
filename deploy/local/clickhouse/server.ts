import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { createGunzip, gzip } from 'node:zlib'
import { type Engine, EngineError } from './engine.ts'
import { statusOfError } from './http-status.ts'
import { answerHeaders, engineRequest, queryIdOf, wantsGzip } from './protocol.ts'

const compress = promisify(gzip)

/** One INSERT is one batch of a sink, which has a few megabytes. */
const MAX_BODY_BYTES = 256 * 1024 * 1024
const QUERY_IS_TOO_LARGE = 307
const INTERNAL = 1002
/** Client sockets stay open between requests. ClickHouse's default is also 10 s, and its client relies on it. */
const KEEP_ALIVE_MS = 10_000

/** Serves the engine over ClickHouse's HTTP interface, which `@clickhouse/client`, curl and BI tools use. */
export function clickhouseServer(engine: Engine): Server {
  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://localhost')
    if (url.pathname === '/ping' || (request.method === 'GET' && !url.searchParams.has('query'))) {
      response.end('Ok.\n')
      return
    }
    const queryId = queryIdOf(url)
    try {
      const body = await bodyOf(request)
      const answer = await engine.execute(engineRequest({ method: request.method ?? 'POST', url, headers: request.headers, body }))
      const headers = answerHeaders(queryId, answer)
      if (answer.bytes.length > 0 && wantsGzip({ url, headers: request.headers })) {
        response.writeHead(200, { ...headers, 'content-encoding': 'gzip' }).end(await compress(answer.bytes))
      } else response.writeHead(200, headers).end(answer.bytes)
    } catch (error) {
      const { code, message } = error instanceof EngineError ? error : new EngineError(INTERNAL, (error as Error).message)
      response
        .writeHead(statusOfError(code), {
          'content-type': 'text/plain; charset=UTF-8',
          'x-clickhouse-query-id': queryId,
          'x-clickhouse-exception-code': String(code),
        })
        .end(`${message}\n`)
    }
  }

  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (request, response) => void handle(request, response))
  // Long queries and large inserts may take any time.
  server.requestTimeout = 0
  return server
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const source = request.headers['content-encoding'] === 'gzip' ? request.pipe(createGunzip()) : request
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of source as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_BODY_BYTES) {
      const message = `Code: ${QUERY_IS_TOO_LARGE}. DB::Exception: The body is larger than ${MAX_BODY_BYTES} bytes. (TOO_MANY_BYTES)`
      throw new EngineError(QUERY_IS_TOO_LARGE, message)
    }
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
