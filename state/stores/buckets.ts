/**
 * Counts per time bucket, sparse and in ascending order. A bucket's number is its start time divided by the bucket
 * length.
 */
export interface Buckets {
  /** Number of the oldest bucket. */
  first: number
  /** The non-empty buckets, each stored as its distance from the first bucket. */
  at: number[]
  /** The counts of the buckets in `at`, in the same order. */
  counts: number[]
}

export function emptyBuckets(): Buckets {
  return { first: 0, at: [], counts: [] }
}

/**
 * Creates buckets with a single count. Array literals keep the arrays small: the first `push` to an empty array would
 * reserve 17 elements.
 */
export function oneBucket(bucket: number, count: number): Buckets {
  return { first: bucket, at: [0], counts: [count] }
}

/**
 * Adds a count to a bucket. Drops the buckets that are at least `keep` buckets older than the newest bucket.
 * @param onDrop called for each bucket before the bucket is dropped
 * @returns the bucket's new count; 0 when the bucket itself is too old to keep
 */
export function addTo(
  buckets: Buckets,
  bucket: number,
  count: number,
  keep: number,
  onDrop?: (bucket: number, count: number) => void,
): number {
  const { at, counts } = buckets
  if (at.length === 0) {
    Object.assign(buckets, oneBucket(bucket, count))
    return count
  }
  if (bucket <= newestOf(buckets) - keep) return 0
  if (bucket < buckets.first) moveFirst(buckets, bucket)
  const distance = bucket - buckets.first
  let place = at.length
  while (place > 0 && at[place - 1] > distance) place--
  if (place > 0 && at[place - 1] === distance) {
    counts[place - 1] += count
    return counts[place - 1]
  }
  if (place < at.length) {
    at.splice(place, 0, distance)
    counts.splice(place, 0, count)
    return count
  }
  at.push(distance)
  counts.push(count)
  dropBefore(buckets, bucket - keep + 1, onDrop)
  return count
}

export function dropBefore(buckets: Buckets, oldest: number, onDrop?: (bucket: number, count: number) => void): void {
  const { at, counts, first } = buckets
  let dropped = 0
  while (dropped < at.length && first + at[dropped] < oldest) {
    onDrop?.(first + at[dropped], counts[dropped])
    dropped++
  }
  if (dropped === 0) return
  at.splice(0, dropped)
  counts.splice(0, dropped)
  if (at.length > 0) moveFirst(buckets, first + at[0])
}

/** Returns the sum of the buckets from `from` to `to`, both inclusive. */
export function sumOf(buckets: Buckets, from: number, to: number): number {
  const { at, counts, first } = buckets
  let sum = 0
  for (let i = at.length - 1; i >= 0; i--) {
    const bucket = first + at[i]
    if (bucket < from) break
    if (bucket <= to) sum += counts[i]
  }
  return sum
}

/** Returns the number of the newest non-empty bucket; -1 when there is none. */
export function newestOf(buckets: Buckets): number {
  const { at, first } = buckets
  return at.length === 0 ? -1 : first + at[at.length - 1]
}

/** Returns the newest non-empty bucket before `bucket`; -Infinity when there is none. */
export function bucketBefore(buckets: Buckets, bucket: number): number {
  const { at, first } = buckets
  for (let i = at.length - 1; i >= 0; i--) if (first + at[i] < bucket) return first + at[i]
  return -Infinity
}

/** Returns the oldest non-empty bucket at or after `bucket`; Infinity when there is none. */
export function bucketFrom(buckets: Buckets, bucket: number): number {
  const { at, first } = buckets
  let found = Infinity
  for (let i = at.length - 1; i >= 0 && first + at[i] >= bucket; i--) found = first + at[i]
  return found
}

export function eachBucket(buckets: Buckets, visit: (bucket: number, count: number) => void): void {
  const { at, counts, first } = buckets
  for (let i = 0; i < at.length; i++) visit(first + at[i], counts[i])
}

function moveFirst(buckets: Buckets, first: number): void {
  const shift = buckets.first - first
  buckets.first = first
  for (let i = 0; i < buckets.at.length; i++) buckets.at[i] += shift
}
