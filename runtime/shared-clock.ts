const NS_PER_MS = 1_000_000n

/**
 * Returns whole milliseconds since an arbitrary moment. Unlike the start time of `performance.now`, this moment is the
 * same for all threads on the machine. The clock is never set back.
 */
export function sharedMonotonicMs(): number {
  return Number(process.hrtime.bigint() / NS_PER_MS)
}

/** A point in time, in whole milliseconds, that one thread sets and another thread reads. It is 0 until it is set. */
export class SharedMoment {
  readonly memory: SharedArrayBuffer
  readonly #cell: BigInt64Array

  constructor(memory = new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT)) {
    this.memory = memory
    this.#cell = new BigInt64Array(memory)
  }

  get(): number {
    return Number(Atomics.load(this.#cell, 0))
  }

  set(ms: number): void {
    Atomics.store(this.#cell, 0, BigInt(ms))
  }
}
