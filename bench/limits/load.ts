import { openSubject, type SubjectName, type SubjectOptions } from './subjects.ts'

/**
 * The task of a load process. `run.ts` passes it as an argument, and the process prints its report as one line of JSON.
 */
export interface LoadOrder extends SubjectOptions {
  readonly subject: SubjectName
  readonly seconds: number
  readonly warmUpSeconds: number
  /** Number of callers. Each request comes from a random caller. */
  readonly callers: number
  /**
   * Closed or open loop. `closed` is the number of requests in flight. `open` is the number of requests per second,
   * regardless of response times.
   */
  readonly mode: { readonly closed: number } | { readonly open: number }
  /** Whether the process reports the times of admitted requests. */
  readonly log: boolean
}

export interface LoadReport {
  readonly decisions: number
  readonly admitted: number
  readonly undecided: number
  readonly seconds: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly p999Ms: number
  readonly greatestMs: number
  readonly cpuSeconds: number
  /** Times at which requests were admitted, epoch ms; empty unless `log` is true. */
  readonly admittedAt: readonly number[]
}

const MS_PER_SECOND = 1_000
const US_PER_SECOND = 1_000_000
/** The load process yields to the event loop after this many synchronous decisions. */
const TURN_EVERY = 32
const MAX_SAMPLES = 4_000_000

async function main(): Promise<void> {
  const order = JSON.parse(process.argv[2]) as LoadOrder
  const subject = await openSubject(order.subject, order)
  await apply(order, subject, order.warmUpSeconds, false)
  const undecidedBefore = subject.undecided
  const report = await apply(order, subject, order.seconds, true)
  await subject.close()
  process.stdout.write(`${JSON.stringify({ ...report, undecided: subject.undecided - undecidedBefore })}\n`)
}

type Decider = Awaited<ReturnType<typeof openSubject>>

async function apply(order: LoadOrder, subject: Decider, seconds: number, measures: boolean): Promise<LoadReport> {
  const samples = new Float64Array(measures ? MAX_SAMPLES : 1)
  const admittedAt: number[] = []
  let decisions = 0
  let admitted = 0
  const began = performance.now()
  const until = began + seconds * MS_PER_SECOND
  const cpu = process.cpuUsage()

  function finished(allowed: boolean, startedAt: number): void {
    const now = performance.now()
    samples[decisions++ % samples.length] = now - startedAt
    if (!allowed) return
    admitted++
    if (order.log && measures) admittedAt.push(performance.timeOrigin + now)
  }

  function ask(): undefined | Promise<void> {
    const startedAt = performance.now()
    const outcome = subject.decide(`c${Math.floor(Math.random() * order.callers)}`)
    if (outcome instanceof Promise) return outcome.then((allowed) => finished(allowed, startedAt))
    finished(outcome, startedAt)
    return undefined
  }

  async function client(): Promise<void> {
    for (let request = 0; performance.now() < until; request++) {
      const waiting = ask()
      if (waiting !== undefined) await waiting
      else if (request % TURN_EVERY === 0) await new Promise((turn) => setImmediate(turn))
    }
  }

  async function arrivals(perSecond: number): Promise<void> {
    const open = new Set<Promise<void>>()
    for (let sent = 0; performance.now() < until; ) {
      const due = ((performance.now() - began) / MS_PER_SECOND) * perSecond
      for (; sent < due; sent++) {
        const waiting = ask()
        if (waiting === undefined) continue
        open.add(waiting)
        void waiting.then(() => open.delete(waiting))
      }
      await new Promise((turn) => setTimeout(turn, 1))
    }
    await Promise.all(open)
  }

  if ('closed' in order.mode) await Promise.all(Array.from({ length: order.mode.closed }, client))
  else await arrivals(order.mode.open)
  const elapsed = (performance.now() - began) / MS_PER_SECOND
  const { user, system } = process.cpuUsage(cpu)
  const sorted = samples.subarray(0, Math.min(decisions, samples.length)).sort()
  const at = (part: number) => sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))]
  return {
    decisions,
    admitted,
    undecided: 0,
    seconds: elapsed,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    p999Ms: at(0.999),
    greatestMs: at(1),
    cpuSeconds: (user + system) / US_PER_SECOND,
    admittedAt,
  }
}

await main()
