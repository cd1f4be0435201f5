/** The seed and the mixing constants are those of Kafka's murmur2 (org.apache.kafka.common.utils.Utils). */
const SEED = 0x9747b28c | 0
const MULTIPLIER = 0x5bd1e995
const SHIFT = 24

/** Computes Kafka's 32-bit murmur2 hash of the bytes in [start, end), as a signed integer. */
export function murmur2(data: Uint8Array, start = 0, end: number = data.length): number {
  const length = end - start
  const tail = start + (length & ~3)
  let hash = SEED ^ length
  for (let i = start; i < tail; i += 4) {
    let k = data[i] | (data[i + 1] << 8) | (data[i + 2] << 16) | (data[i + 3] << 24)
    k = Math.imul(k, MULTIPLIER)
    k ^= k >>> SHIFT
    k = Math.imul(k, MULTIPLIER)
    hash = Math.imul(hash, MULTIPLIER) ^ k
  }
  const rest = end - tail
  if (rest > 2) hash ^= data[tail + 2] << 16
  if (rest > 1) hash ^= data[tail + 1] << 8
  if (rest > 0) hash = Math.imul(hash ^ data[tail], MULTIPLIER)
  hash ^= hash >>> 13
  hash = Math.imul(hash, MULTIPLIER)
  return hash ^ (hash >>> 15)
}

/** Returns the partition that the Java client and librdkafka's `murmur2_random` choose for the key in [start, end). */
export function partitionFor(key: Uint8Array, partitions: number, start = 0, end: number = key.length): number {
  return (murmur2(key, start, end) & 0x7fffffff) % partitions
}
