import { loadavg } from 'node:os'
import { median, quantile, row } from '../harness/table.ts'
import { type Paced, paced } from '../snippets/pace.ts'

/** One of the contenders that are measured in alternating rounds. */
export interface Contender {
  readonly name: string
  /** Called before each round. The duration of the call is not measured. */
  readonly before?: () => Promise<void>
  readonly once: () => Promise<Round>
}

/** Results of one round. Times are in ms. */
export interface Round {
  readonly p50: number
  readonly p99: number
  readonly max: number
  readonly count: number
  readonly failures: ReadonlyMap<string, number>
  /** Further figures, keyed by name. */
  readonly more: Readonly<Record<string, number>>
}

/** Maximum number of connections to a server, similar to the pool of a load balancer. */
export const CONNECTIONS = 256

export type Say = (line: string) => void

const ERROR_BODY = /^(\d{3}) \{"error":"(\w+)".*$/s

/** Load average above which the remark calls the machine busy, because other processes are using it. */
const BUSY = 1

/** Returns a remark about the machine's load before a measurement. */
export function loadRemark(): string {
  const [load] = loadavg()
  return load > BUSY ? `load before: ${load.toFixed(1)} (busy machine)` : `load before: ${load.toFixed(1)}`
}

function roundOf({ latencies, failures }: Paced, more: Record<string, number>): Round {
  const [p50, p99, max] = [0.5, 0.99, 1].map((share) => quantile(latencies, share))
  return { p50, p99, max, count: latencies.length, failures: byCode(failures), more }
}

/**
 * Groups failures by status and error code. The messages of error responses contain request ids, so they would make
 * each failure a separate group.
 */
function byCode(failures: ReadonlyMap<string, number>): Map<string, number> {
  const sums = new Map<string, number>()
  for (const [message, count] of failures) {
    const kind = message.replace(ERROR_BODY, '$1 $2')
    sums.set(kind, (sums.get(kind) ?? 0) + count)
  }
  return sums
}

/**
 * Sends requests at a fixed rate, regardless of response times. The results include the CPU time that each process uses
 * per request.
 */
export async function atRate(
  perSecond: number,
  seconds: number,
  ask: () => Promise<void>,
  cpu: () => Readonly<Record<string, number>> = () => ({}),
): Promise<Round> {
  const before = cpu()
  const result = await paced(perSecond, seconds, ask)
  const after = cpu()
  const requests = Math.max(1, result.latencies.length)
  const used = Object.keys(after).map((name) => [`${name} ms`, ((after[name] - before[name]) * 1_000) / requests] as const)
  return roundOf(result, Object.fromEntries(used))
}

/** Measures the contenders in several alternating rounds, and prints medians and ranges. */
export async function inTurn(contenders: readonly Contender[], rounds: number, say: Say): Promise<Map<string, Round[]>> {
  const results = new Map<string, Round[]>(contenders.map(({ name }) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    for (const { name, before, once } of contenders) {
      await before?.()
      results.get(name)?.push(await once())
    }
  }
  say(row(['', 'answers', 'P50 ms (spread)', 'P99 ms (spread)', 'maximum ms', 'failed', 'more']))
  say(row(['---', '--:', '--:', '--:', '--:', '--:', '---']))
  for (const [name, found] of results) say(resultRow(name, found))
  return results
}

function resultRow(name: string, found: readonly Round[]): string {
  const count = found.reduce((sum, round) => sum + round.count, 0)
  const failures = Map.groupBy(
    found.flatMap((round) => [...round.failures]),
    ([kind]) => kind,
  )
  const failed = [...failures].map(([kind, all]) => `${all.reduce((sum, [, times]) => sum + times, 0)} × ${kind}`)
  const titles = Object.keys(found[0].more)
  const more = titles.map((title) => `${title} ${median(found.map((round) => round.more[title])).toFixed(2)}`).join(', ')
  const times = [middleOf(found.map(({ p50 }) => p50)), middleOf(found.map(({ p99 }) => p99))]
  return row([name, count, ...times, Math.max(...found.map(({ max }) => max)).toFixed(1), failed.join('; ') || 0, more])
}

/** Formats the median, followed by the minimum and maximum in brackets. */
export function middleOf(values: readonly number[], digits = 1): string {
  const [least, most] = [Math.min(...values), Math.max(...values)].map((value) => value.toFixed(digits))
  return `${median(values).toFixed(digits)} (${least}-${most})`
}
