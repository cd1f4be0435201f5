import type { Neighbour } from '../../../schemas/recommendations/signals/packed-neighbours.ts'

/**
 * The format of an item's neighbours. Each neighbour takes 20 bytes: 8 for the id, 8 for the weight and 4 for the time
 * of the last pair in epoch seconds. Weights are relative to the row's `reference_at`. Newer pairs add higher weights,
 * so no old weight has to be rewritten as time passes.
 */
const HIGH_OFFSET = 4
const WEIGHT_OFFSET = 8
const AT_OFFSET = 16
const ENTRY_BYTES = 20
const LOW_BITS = 32n

const MAX_NEIGHBOURS = 100
/**
 * How many of the newest neighbours are kept regardless of their weights. Without this exception, a new neighbour could
 * never gain weight against a hundred old neighbours.
 */
const KEPT_NEWEST = 20

export interface KeptNeighbours {
  /** Adds weight to a neighbour. If the item is not a neighbour yet, it becomes one. */
  add(itemId: bigint, weight: number, seconds: number): void
  list(): Neighbour[]
  /** Returns the newest and the heaviest neighbours as bytes. */
  packed(): Buffer
}

/**
 * Unpacks neighbours into columns. One event changes the neighbours of ten items. If each item's hundred neighbours
 * were objects in a map, this would take several times as long.
 * @param fade factor by which all weights are multiplied
 * @param most maximum number of neighbours that may be added
 */
export function keptNeighbours(bytes: Uint8Array, fade: number, most: number): KeptNeighbours {
  let count = bytes.byteLength / ENTRY_BYTES
  // Each id is stored as two 32-bit halves. Halves are compared much faster than 64-bit integers, which V8 allocates as
  // objects.
  const lows = new Int32Array(count + most)
  const highs = new Int32Array(count + most)
  const weights = new Float64Array(count + most)
  const times = new Uint32Array(count + most)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  for (let index = 0, at = 0; index < count; index++, at += ENTRY_BYTES) {
    lows[index] = view.getInt32(at, true)
    highs[index] = view.getInt32(at + HIGH_OFFSET, true)
    weights[index] = view.getFloat64(at + WEIGHT_OFFSET, true) * fade
    times[index] = view.getUint32(at + AT_OFFSET, true)
  }

  function idAt(index: number): bigint {
    return (BigInt(highs[index]) << LOW_BITS) | BigInt(lows[index] >>> 0)
  }

  /** Marks the newest neighbours. Among neighbours of the same second, the one with the smaller id counts as newer. */
  function newest(): Uint8Array {
    const marks = new Uint8Array(count)
    const oldest = times.slice(0, count).sort()[count - KEPT_NEWEST]
    const same: number[] = []
    let marked = 0
    for (let index = 0; index < count; index++) {
      if (times[index] > oldest) {
        marks[index] = 1
        marked++
      } else if (times[index] === oldest) same.push(index)
    }
    same.sort((one, other) => (idAt(one) < idAt(other) ? -1 : 1))
    for (const index of same.slice(0, KEPT_NEWEST - marked)) marks[index] = 1
    return marks
  }

  function remove(index: number): void {
    count--
    lows[index] = lows[count]
    highs[index] = highs[count]
    weights[index] = weights[count]
    times[index] = times[count]
  }

  /**
   * Drops the lightest neighbours that are not among the newest. Of neighbours with equal weights, the one with the
   * highest id is dropped first.
   */
  function shrink(): void {
    const marks = newest()
    while (count > MAX_NEIGHBOURS) {
      let lightest = -1
      for (let index = 0; index < count; index++) {
        if (marks[index] === 1) continue
        const isLighter =
          lightest < 0 || weights[index] < weights[lightest] || (weights[index] === weights[lightest] && idAt(index) > idAt(lightest))
        if (isLighter) lightest = index
      }
      remove(lightest)
      marks[lightest] = marks[count]
    }
  }

  return {
    add(itemId, weight, seconds) {
      const [low, high] = [Number(BigInt.asIntN(32, itemId)), Number(itemId >> LOW_BITS)]
      let index = 0
      while (index < count && (lows[index] !== low || highs[index] !== high)) index++
      if (index === count) {
        lows[count] = low
        highs[count] = high
        weights[count] = weight
        times[count++] = seconds
        return
      }
      weights[index] += weight
      times[index] = Math.max(times[index], seconds)
    },
    list: () => Array.from({ length: count }, (_, index) => ({ itemId: idAt(index), weight: weights[index] })),
    packed() {
      if (count > MAX_NEIGHBOURS) shrink()
      const out = Buffer.allocUnsafe(count * ENTRY_BYTES)
      const written = new DataView(out.buffer, out.byteOffset, out.byteLength)
      for (let index = 0, at = 0; index < count; index++, at += ENTRY_BYTES) {
        written.setInt32(at, lows[index], true)
        written.setInt32(at + HIGH_OFFSET, highs[index], true)
        written.setFloat64(at + WEIGHT_OFFSET, weights[index], true)
        written.setUint32(at + AT_OFFSET, times[index], true)
      }
      return out
    },
  }
}
