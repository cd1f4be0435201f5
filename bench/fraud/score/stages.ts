import { STAGES } from '../../../api/fraud/score/stages.ts'

/** Cumulative histogram counts of a stage, keyed by the upper bound of each bucket in seconds. */
type Buckets = ReadonlyMap<number, number>

const MS_PER_SECOND = 1_000
const METRIC = /^fraud_stage_duration_seconds_bucket\{le="([^"]+)",stage="(\w+)"[^}]*\} (\d+)/

/**
 * Reads how long each stage of scoring took, as one histogram per stage, from an API's metrics.
 * @param url base URL of the API's operations port
 */
export async function readStages(url: string): Promise<ReadonlyMap<string, Buckets>> {
  const text = await (await fetch(`${url}/metrics`)).text()
  const stages = new Map<string, Map<number, number>>(STAGES.map((stage) => [stage, new Map()]))
  for (const line of text.split('\n')) {
    const found = METRIC.exec(line)
    if (found !== null) stages.get(found[2])?.set(found[1] === '+Inf' ? Number.POSITIVE_INFINITY : Number(found[1]), Number(found[3]))
  }
  return stages
}

/**
 * Returns a quantile of the durations measured between two readings, in ms. The value is the upper bound of a histogram
 * bucket.
 */
export function stageQuantile(before: Buckets | undefined, after: Buckets, share: number): number {
  const counts = [...after].map(([limit, count]) => [limit, count - (before?.get(limit) ?? 0)] as const)
  const total = counts.at(-1)?.[1] ?? 0
  const found = counts.find(([, count]) => count >= total * share)
  return (found?.[0] ?? Number.NaN) * MS_PER_SECOND
}
