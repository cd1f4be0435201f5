import type { AvroSchema } from '../../schemas/topic.ts'

/**
 * Counts of one key by time bucket: the non-empty buckets among the last N, oldest first, as parallel arrays.
 * A bucket is named by its number, time / bucket length; only the newest number is stored, the others are distances.
 */
export interface WindowedCounter {
  /** Number of the last bucket. */
  newest: number
  /** Distance of each bucket from the one before it; 0 for the first. */
  gaps: number[]
  counts: number[]
}

export const windowedCounterSchema: AvroSchema = {
  type: 'record',
  name: 'WindowedCounter',
  namespace: 'millrace.state',
  fields: [
    { name: 'newest', type: 'long' },
    { name: 'gaps', type: { type: 'array', items: 'long' } },
    { name: 'counts', type: { type: 'array', items: 'long' } },
  ],
}

export function newCounter(bucket: number, count: number): WindowedCounter {
  return { newest: bucket, gaps: [0], counts: [count] }
}

/**
 * Adds to a bucket. A newer one moves the ring on and drops what falls out of it.
 * @param ring buckets kept
 * @returns false, and nothing changed, when the bucket is behind the ring
 */
export function addToCounter(counter: WindowedCounter, bucket: number, count: number, ring: number): boolean {
  const { gaps, counts } = counter
  if (bucket > counter.newest) {
    gaps.push(bucket - counter.newest)
    counts.push(count)
    counter.newest = bucket
    dropBefore(counter, bucket - ring + 1)
    return true
  }
  if (bucket <= counter.newest - ring) return false
  let at = gaps.length - 1
  let number = counter.newest
  while (number > bucket && at > 0) number -= gaps[at--]
  if (number === bucket) counts[at] += count
  else if (number > bucket) {
    gaps[0] = number - bucket
    gaps.unshift(0)
    counts.unshift(count)
  } else {
    gaps[at + 1] -= bucket - number
    gaps.splice(at + 1, 0, bucket - number)
    counts.splice(at + 1, 0, count)
  }
  return true
}

/** The sum of the buckets from `from` to before `to`. */
export function countBetween(counter: WindowedCounter, from: number, to: number): number {
  const { gaps, counts } = counter
  let sum = 0
  let bucket = counter.newest
  for (let at = gaps.length - 1; at >= 0 && bucket >= from; bucket -= gaps[at--]) {
    if (bucket < to) sum += counts[at]
  }
  return sum
}

/** Drops the buckets before `first`. @returns whether there were any */
export function dropBefore(counter: WindowedCounter, first: number): boolean {
  const { gaps, counts } = counter
  let oldest = counter.newest
  for (let at = gaps.length - 1; at > 0; at--) oldest -= gaps[at]
  let dropped = 0
  while (dropped < gaps.length && oldest < first) oldest += gaps[++dropped] ?? 0
  if (dropped === 0) return false
  gaps.splice(0, dropped)
  counts.splice(0, dropped)
  if (gaps.length > 0) gaps[0] = 0
  return true
}
