import type { LoadReport } from './load.ts'
import type { SubjectName } from './subjects.ts'

/** Applies a load of `perSecond` requests per second and returns the results. */
export type ApplyRate = (subject: SubjectName, callers: number, perSecond: number) => Promise<LoadReport>

/** Target for the latency that a decision adds at P99 (docs/services/limits.md#targets). */
const TARGET_P99_MS = 2
const SUBJECTS: readonly SubjectName[] = ['millrace, leases', 'millrace', 'flexible']
const TRAFFIC = [
  { name: '10 hot callers', callers: 10 },
  { name: '100,000 callers', callers: 100_000 },
]
const FIRST_RATE = 2_000
/** Highest rate that the search tries. One process cannot send more. */
const LAST_RATE = 1_024_000
/** Number of bisection steps after the doubling. They narrow the rate down to an eighth of the last doubling step. */
const BISECTIONS = 3
/**
 * Minimum share of the due requests that must be sent. If fewer are sent, the load process itself is saturated, and the
 * step fails.
 */
const LEAST_SENT = 0.98
/**
 * Number of tries per step. A step fails only if all of them fail, because one try may fail due to other load on the
 * machine.
 */
const TRIES = 2

interface Step {
  readonly perSecond: number
  readonly report: LoadReport
  readonly holds: boolean
}

/**
 * Finds the highest rate at which decisions add less than 2 ms to 99 % of requests. One process makes the decisions,
 * with Redis on the same machine.
 * @param traffic measures only kinds of traffic whose names contain this text
 */
export async function rateTable(
  apply: ApplyRate,
  installed: readonly SubjectName[],
  traffic: string,
  say: (text: string) => void,
): Promise<void> {
  say(`\n### Highest rate with less than ${TARGET_P99_MS} ms of added latency at P99, one process`)
  say(
    '\n| traffic | subject | requests/s | P50 ms | P99 ms | CPU µs per decision | next higher step | its P99 ms |\n|---|---|---|---|---|---|---|---|',
  )
  for (const { name, callers } of TRAFFIC.filter((one) => one.name.includes(traffic))) {
    for (const subject of SUBJECTS.filter((name) => installed.includes(name))) {
      const { best, above } = await search((perSecond) => step(apply, subject, callers, perSecond))
      const found = best === undefined ? '– | – | – | –' : described(best)
      const next = above === undefined ? '– | –' : `${thousands(above.perSecond)} | ${above.report.p99Ms.toFixed(2)}`
      say(`| ${name} | ${subject} | ${found} | ${next} |`)
    }
  }
}

async function step(apply: ApplyRate, subject: SubjectName, callers: number, perSecond: number): Promise<Step> {
  let report = await apply(subject, callers, perSecond)
  for (let tries = 1; tries < TRIES && !holds(report, perSecond); tries++) report = await apply(subject, callers, perSecond)
  return { perSecond, report, holds: holds(report, perSecond) }
}

function holds({ p99Ms, decisions, seconds, undecided }: LoadReport, perSecond: number): boolean {
  return p99Ms < TARGET_P99_MS && undecided === 0 && decisions / seconds >= LEAST_SENT * perSecond
}

/** Finds the highest rate that succeeds. Doubles the rate until a step fails, and then bisects. */
async function search(at: (perSecond: number) => Promise<Step>): Promise<{ best: Step | undefined; above: Step | undefined }> {
  let best: Step | undefined
  let above: Step | undefined
  for (let rate = FIRST_RATE; rate <= LAST_RATE && above === undefined; rate *= 2) {
    const tried = await at(rate)
    if (tried.holds) best = tried
    else above = tried
  }
  for (let bisection = 0; bisection < BISECTIONS && best !== undefined && above !== undefined; bisection++) {
    const tried = await at((best.perSecond + above.perSecond) / 2)
    if (tried.holds) best = tried
    else above = tried
  }
  return { best, above }
}

function described({ perSecond, report: { p50Ms, p99Ms, cpuSeconds, decisions } }: Step): string {
  return `${thousands(perSecond)} | ${p50Ms.toFixed(2)} | ${p99Ms.toFixed(2)} | ${((cpuSeconds / decisions) * 1e6).toFixed(1)}`
}

function thousands(value: number): string {
  return Math.round(value).toLocaleString('en')
}
