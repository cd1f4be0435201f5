import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Answer } from './answer.ts'
import type { AnswerCache, KeptAnswer } from './answer-cache.ts'
import { acceptsGzip, variantFor } from './conditional.ts'
import { COMMON_HEADERS } from './headers.ts'
import type { HttpMetrics } from './metrics.ts'
import type { Readiness } from './readiness.ts'
import { requestIdFrom } from './request-id.ts'
import { mayHaveSession } from './session/cookie.ts'

export interface KeptAnswerOptions {
  readonly answers: AnswerCache
  readonly metrics: HttpMetrics
  readonly readiness: Readiness
  /** Epoch ms. */
  readonly now: () => number
}

/**
 * An answer as it is written to the socket. Header names and values alternate, so that `writeHead` need not copy them.
 */
interface Wire {
  readonly status: number
  readonly headers: readonly string[]
  readonly body: Uint8Array
}

/** The uncompressed and compressed forms of a kept answer. Each form is rendered on first use. */
interface Wires {
  plain?: Wire
  gzip?: Wire
}

const MS_PER_SECOND = 1_000
const NO_BYTES = new Uint8Array()

/**
 * Creates the fast path: a kept answer is sent without routing, validation or rendering. A kept answer is an answer
 * that the app recently gave to a request for the same target.
 * @returns a function that returns true if it has answered the request
 */
export function keptAnswerSender(options: KeptAnswerOptions): (request: IncomingMessage, response: ServerResponse) => boolean {
  const wiresOf = new WeakMap<KeptAnswer, Wires>()
  const { answers, metrics, readiness, now } = options

  return function sendKept(request, response) {
    if (request.method !== 'GET' || readiness.draining) return false
    const kept = answers.get(request.url!, now())
    if (kept === undefined) return false
    const { headers } = request
    if (headers.authorization !== undefined || mayHaveSession(headers.cookie)) return false
    const startedAt = performance.now()
    const wire =
      headers['if-none-match'] === undefined ? wholeWire(kept, headers['accept-encoding'] as string) : conditionalWire(kept, request)
    response.writeHead(wire.status, [...wire.headers, 'X-Request-Id', requestIdFrom(headers['x-request-id'] as string | undefined)])
    response.end(wire.body)
    metrics.reused.inc()
    metrics.observe('GET', kept.route, wire.status, (performance.now() - startedAt) / MS_PER_SECOND)
    return true
  }

  function wholeWire(kept: KeptAnswer, acceptEncoding: string | undefined): Wire {
    let wires = wiresOf.get(kept)
    if (wires === undefined) {
      wires = {}
      wiresOf.set(kept, wires)
    }
    if (kept.answer.gzip !== undefined && acceptsGzip(acceptEncoding)) {
      wires.gzip ??= render(variantFor(kept.answer, { ifNoneMatch: undefined, acceptEncoding }))
      return wires.gzip
    }
    wires.plain ??= render(kept.answer)
    return wires.plain
  }

  function conditionalWire(kept: KeptAnswer, { headers }: IncomingMessage): Wire {
    return render(
      variantFor(kept.answer, { ifNoneMatch: headers['if-none-match'], acceptEncoding: headers['accept-encoding'] as string | undefined }),
    )
  }
}

function render({ status, headers, body }: Answer): Wire {
  const bytes = typeof body === 'string' ? Buffer.from(body) : ((body as Uint8Array | null) ?? NO_BYTES)
  const length: Record<string, string> = status === 304 ? {} : { 'Content-Length': String(bytes.byteLength) }
  return { status, headers: Object.entries({ ...COMMON_HEADERS, ...headers, ...length }).flat(), body: bytes }
}
