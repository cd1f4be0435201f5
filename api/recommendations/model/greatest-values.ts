/** Returns the position of the highest value. If values are equal, the first one wins. */
export function placeOfGreatest(values: Float64Array): number {
  let best = 0
  for (let at = 1; at < values.length; at++) if (values[at] > values[best]) best = at
  return best
}

/** Scratch memory that all calls share. They are synchronous, so no two calls use it at the same time. */
let heap = new Float64Array()

/**
 * Returns the lowest of the `count` highest values. If there are no more than `count` values, returns -Infinity. The
 * highest values so far are in a heap, because sorting thousands of values would take a millisecond.
 */
export function leastOfGreatest(values: Float64Array, count: number): number {
  if (values.length <= count) return Number.NEGATIVE_INFINITY
  if (heap.length < count) heap = new Float64Array(count)
  for (let at = 0; at < count; at++) heap[at] = values[at]
  for (let at = (count >> 1) - 1; at >= 0; at--) sink(at, heap[at], count)
  for (let at = count; at < values.length; at++) if (values[at] > heap[0]) sink(0, values[at], count)
  return heap[0]
}

/** Puts a value into the heap at `at` or below. The lowest value of the heap is at its root. */
function sink(at: number, value: number, count: number): void {
  let place = at
  for (;;) {
    let child = 2 * place + 1
    if (child >= count) break
    if (child + 1 < count && heap[child + 1] < heap[child]) child++
    if (heap[child] >= value) break
    heap[place] = heap[child]
    place = child
  }
  heap[place] = value
}
