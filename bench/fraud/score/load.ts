import { Agent, request } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { quantile } from '../../harness/table.ts'

export interface LoadOptions {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly perSecond: number
  readonly seconds: number
  body(): string
}

export interface LoadResult {
  /** Answers per second. */
  readonly rate: number
  /** ms from the planned time of a request, so that a server that stalls does not hide its delay. */
  readonly p50: number
  readonly p99: number
  readonly most: number
  readonly failures: number
}

const CONNECTIONS = 64
const MS_PER_SECOND = 1_000
const LAST_ANSWERS_MS = 10_000
const POLL_MS = 20

/** Sends requests at a fixed rate, however long the answers take. */
export async function openLoad({ url, headers, perSecond, seconds, body }: LoadOptions): Promise<LoadResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const latencies: number[] = []
  let failures = 0
  let open = 0

  function send(plannedAt: number): void {
    open++
    const text = body()
    const settle = (isRight: boolean) => {
      open--
      if (isRight) latencies.push(performance.now() - plannedAt)
      else failures++
    }
    const sent = request(url, {
      method: 'POST',
      agent,
      headers: { ...headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) },
    })
    sent.on('response', (response) => {
      response.resume()
      response.on('end', () => settle(response.statusCode === 200))
    })
    sent.on('error', () => settle(false))
    sent.end(text)
  }

  const start = performance.now()
  const total = perSecond * seconds
  for (let index = 0; index < total; ) {
    const due = Math.min(total, Math.floor(((performance.now() - start) / MS_PER_SECOND) * perSecond) + 1)
    for (; index < due; index++) send(start + (index / perSecond) * MS_PER_SECOND)
    await delay(1)
  }
  const end = performance.now() + LAST_ANSWERS_MS
  while (open > 0 && performance.now() < end) await delay(POLL_MS)
  agent.destroy()
  const took = (performance.now() - start) / MS_PER_SECOND
  const sorted = latencies.sort((one, other) => one - other)
  return {
    rate: sorted.length / took,
    p50: quantile(sorted, 0.5),
    p99: quantile(sorted, 0.99),
    most: sorted.at(-1) ?? Number.NaN,
    failures: failures + open,
  }
}
