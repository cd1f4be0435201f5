/** Nanoseconds per millisecond. */
const NS_PER_MS = 1_000_000n

/**
 * Returns whole milliseconds since an arbitrary moment that is the same for all threads of the machine, unlike that of
 * `performance.now`. It is never set back.
 */
export function sharedMonotonicMs(): number {
  return Number(process.hrtime.bigint() / NS_PER_MS)
}

/** A moment that one thread sets and another one reads. */
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
