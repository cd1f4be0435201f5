import { Agent, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'

/** One request of the open loop and its response. Times are in ms. */
export interface Created {
  /** HTTP status of the response; 0 when the connection failed. */
  readonly status: number
  /**
   * Time from when the request was due until the response, so that a late load generator does not improve the result.
   */
  readonly totalMs: number
  /** Time from sending the request until its command was decided. */
  readonly decidedMs: number
  readonly code: string
}

const MS_PER_SECOND = 1_000
/**
 * Maximum number of connections, similar to the pool of a load balancer. Without this limit, a stall of one second
 * would open 500 new connections at the default rate. The server's accept queue cannot hold so many.
 */
const CONNECTIONS = 256

/** Creates links at a fixed rate, regardless of response times. */
export async function createAtRate(apiUrl: string, perSecond: number, seconds: number): Promise<Created[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const { hostname, port } = new URL(apiUrl)
  const pending: Promise<Created>[] = []
  const startedAt = performance.now()
  const total = perSecond * seconds

  function create(index: number, dueAt: number): Promise<Created> {
    const body = JSON.stringify({ long_url: `https://example.com/some/page/${index}?from=${startedAt}` })
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
    const sentAt = Date.now()
    return new Promise((resolve) => {
      const asked = request({ agent, hostname, port, method: 'POST', path: '/api/v1/urls', headers }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () => {
          const totalMs = performance.now() - dueAt
          const answer = JSON.parse(Buffer.concat(chunks).toString()) as { created_at?: string; short_code?: string }
          const decidedMs = Date.parse(answer.created_at ?? '') - sentAt
          resolve({ status: response.statusCode as number, totalMs, decidedMs, code: answer.short_code ?? '' })
        })
      })
      asked.on('error', () => resolve({ status: 0, totalMs: performance.now() - dueAt, decidedMs: Number.NaN, code: '' }))
      asked.end(body)
    })
  }

  for (let index = 0; index < total; index++) {
    const dueAt = startedAt + (index * MS_PER_SECOND) / perSecond
    const wait = dueAt - performance.now()
    if (wait > 0) await delay(wait)
    pending.push(create(index, dueAt))
  }
  const created = await Promise.all(pending)
  agent.destroy()
  return created
}
