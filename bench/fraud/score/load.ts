import { setTimeout as delay } from 'node:timers/promises'
import { quantile } from '../../harness/table.ts'
import type { HttpPool, PoolAnswer } from './http-pool.ts'

export interface LoadOptions {
  readonly pool: HttpPool
  readonly perSecond: number
  readonly seconds: number
  body(): string
}

export interface LoadResult {
  /** Successful responses per second. */
  readonly rate: number
  /** Median latency in ms, measured from the planned time of a request, so that a stall of the server is included. */
  readonly p50: number
  readonly p99: number
  readonly most: number
  /** Number of failed requests by kind of failure: a status other than 200, or no response. */
  readonly failures: ReadonlyMap<string, number>
  /** Share of degraded responses: those scored without some of the usual inputs. */
  readonly degraded: number
  /**
   * Share of successful responses with the decision REVIEW. Such a payment creates a case, and therefore costs the
   * services behind the API much more than other payments.
   */
  readonly reviewed: number
}

const MS_PER_SECOND = 1_000
/** How long to wait for the last responses. Requests without a response after this time count as failed. */
const LAST_ANSWERS_MS = 5_000
const POLL_MS = 20
const WHOLE = '"degraded":[]'
const REVIEW = '"decision":"REVIEW"'
const CODE = /"error":"(\w+)"/

/** Sends requests at a fixed rate, regardless of response times. */
export async function openLoad({ pool, perSecond, seconds, body }: LoadOptions): Promise<LoadResult> {
  const latencies: number[] = []
  const failures = new Map<string, number>()
  let open = 0
  let degraded = 0
  let reviewed = 0
  let lastAt = performance.now()

  function failed(what: string, count = 1): void {
    if (count > 0) failures.set(what, (failures.get(what) ?? 0) + count)
  }

  function settled(answer: PoolAnswer | Error, plannedAt: number): void {
    open--
    lastAt = performance.now()
    if (answer instanceof Error) failed(answer.message)
    else if (answer.status !== 200) failed(`${answer.status} ${CODE.exec(answer.body)?.[1] ?? ''}`)
    else {
      latencies.push(lastAt - plannedAt)
      if (!answer.body.includes(WHOLE)) degraded++
      if (answer.body.includes(REVIEW)) reviewed++
    }
  }

  const start = performance.now()
  const total = perSecond * seconds
  for (let index = 0; index < total; ) {
    const due = Math.min(total, Math.floor(((performance.now() - start) / MS_PER_SECOND) * perSecond) + 1)
    for (; index < due; index++) {
      const plannedAt = start + (index / perSecond) * MS_PER_SECOND
      open++
      pool.post(body(), (answer) => settled(answer, plannedAt))
    }
    await delay(1)
  }
  const end = performance.now() + LAST_ANSWERS_MS
  while (open > 0 && performance.now() < end) await delay(POLL_MS)
  failed('no answer', open)
  const took = (lastAt - start) / MS_PER_SECOND
  const sorted = latencies.sort((one, other) => one - other)
  return {
    rate: sorted.length / took,
    p50: quantile(sorted, 0.5),
    p99: quantile(sorted, 0.99),
    most: sorted.at(-1) ?? Number.NaN,
    failures,
    degraded: degraded / Math.max(1, sorted.length),
    reviewed: reviewed / Math.max(1, sorted.length),
  }
}
