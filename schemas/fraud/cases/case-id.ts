/**
 * Ids of cases: 41 bits of time in ms since 2020, 10 bits of the partition that created the id, and 12 bits that number
 * the ids of one millisecond. Ids are unique, sort in the order of creation within a partition, and contain the
 * partition of the view that stores the case. They may exceed 2^53, so they are decimal strings in records, in the
 * program and in the API.
 */
const EPOCH_MS = Date.UTC(2020, 0, 1)
const PARTITION_BITS = 10n
const SEQUENCE_BITS = 12n
const MAX_PARTITIONS = 1 << Number(PARTITION_BITS)
const SEQUENCES = 1n << SEQUENCE_BITS
const MAX_ID = (1n << 63n) - 1n

/**
 * Returns a new id, greater than the last id of the partition, even if the clock goes back.
 * @param last the newest id of this partition; undefined if there is none
 * @param now epoch ms
 * @throws RangeError if the partition number has more than 10 bits
 */
export function nextCaseId(last: string | undefined, now: number, partition: number): string {
  if (partition >= MAX_PARTITIONS) throw new RangeError(`cases can have at most ${MAX_PARTITIONS} partitions`)
  const clock = BigInt(now - EPOCH_MS)
  const before = last === undefined ? undefined : partsOf(BigInt(last))
  if (before === undefined || clock > before.time) return idOf(clock, partition, 0n)
  const isFull = before.sequence === SEQUENCES - 1n
  return isFull ? idOf(before.time + 1n, partition, 0n) : idOf(before.time, partition, before.sequence + 1n)
}

/** Returns the partition of the case with this id; undefined if the text is not a case id. */
export function partitionOfCase(text: string): number | undefined {
  if (!/^[1-9]\d{0,18}$/.test(text)) return undefined
  const id = BigInt(text)
  return id > MAX_ID ? undefined : partsOf(id).partition
}

/**
 * Compares two ids by age, newest first. The decimal digits are compared, because a page near the end of a long list
 * sorts hundreds of thousands of ids, and bigints for all of them would block the process for more than a second.
 */
export function newestFirst(a: string, b: string): number {
  if (a.length !== b.length) return b.length - a.length
  return a < b ? 1 : a > b ? -1 : 0
}

function idOf(time: bigint, partition: number, sequence: bigint): string {
  return String((((time << PARTITION_BITS) | BigInt(partition)) << SEQUENCE_BITS) | sequence)
}

function partsOf(id: bigint): { readonly time: bigint; readonly partition: number; readonly sequence: bigint } {
  return {
    time: id >> (PARTITION_BITS + SEQUENCE_BITS),
    partition: Number((id >> SEQUENCE_BITS) & ((1n << PARTITION_BITS) - 1n)),
    sequence: id & (SEQUENCES - 1n),
  }
}
