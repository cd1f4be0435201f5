import { expect, test } from 'vitest'
import { testDriver } from '../../../pipelines/engine/testing/test-driver.ts'
import { deadLetter } from '../../../pipelines/engine/topology/outcome.ts'
import { topology } from '../../../pipelines/engine/topology/topology.ts'
import { avroValue } from '../../../schemas/avro/value.ts'
import { compositeKey, textPart, u32Part } from '../../../schemas/composite.ts'
import { decimalInt, utf8 } from '../../../schemas/keys.ts'
import { joinBufferStore } from '../../../state/stores/join-buffer-store.ts'
import { keyedStore } from '../../../state/stores/keyed-store.ts'
import { packedStore } from '../../../state/stores/packed-store.ts'
import { seenSetStore } from '../../../state/stores/seen-set-store.ts'
import type { EngineStore } from '../../../state/stores/store.ts'
import { timerStore } from '../../../state/stores/timer-store.ts'

const long = avroValue<number>('long')
const key = decimalInt
const pair = compositeKey<{ name: string; number: number }>({ name: textPart, number: u32Part })
const numbers = { name: 'numbers', key: utf8, value: long, partitions: 1 }
const TOO_LARGE = 2 ** 40

type Announced = EngineStore & { prefetchNumber(number: number): void; fill?(number: number): void }

/** Adds a method that prefetches the key that contains a given number. */
function announced<S extends EngineStore>(store: S, prefetch: (store: S, number: number) => void): Announced {
  return Object.assign(store, { prefetchNumber: (number: number) => prefetch(store, number) })
}

const STORES: Record<string, () => Announced> = {
  keyed: () => announced(keyedStore('s', { key, value: long }), (store, number) => store.prefetch(number)),
  'keyed, with composite keys': () =>
    announced(keyedStore('s', { key: pair, value: long }), (store, number) => store.prefetch({ name: 'ann', number })),
  sparse: () => {
    const store = keyedStore('s', { key, value: long, sparse: true })
    return Object.assign(
      announced(store, (_, number) => store.prefetch(number)),
      { fill: (number: number) => store.put(number, number) },
    )
  },
  packed: () => announced(packedStore('s', { key, value: long }), (store, number) => store.prefetch(number)),
  timer: () => announced(timerStore('s', { key: pair }), (store, number) => store.prefetch({ name: 'ann', number })),
  'join buffer': () => announced(joinBufferStore('s', { key, value: 'long', spanMs: 1_000 }), (store, number) => store.prefetch(number, 0)),
  'seen-set': () =>
    announced(seenSetStore('s', { key: pair, item: key, capacity: 10, errorRate: 0.01, lifetimeMs: 1_000 }), (store, number) =>
      store.prefetch({ name: 'ann', number }, number),
    ),
}

test.each(Object.entries(STORES))('a processor may reject a record whose prefetched key cannot be encoded: %s store', (_name, open) => {
  const checked = topology('checked', (t) => {
    const store = open()
    const options = { reads: (number: number) => store.prefetchNumber(number), stores: [store] }
    t.source(numbers).process('check', options, (number) => {
      if (number === TOO_LARGE) return deadLetter('too_large', String(number))
      // A sparse store encodes prefetched keys only when it has rows.
      store.fill?.(number)
    })
  })
  const driver = testDriver(checked, { commit: 'manual' })
  driver.pipe(numbers, 'ann', 1)
  driver.settle()
  for (const number of [2, TOO_LARGE, 3]) driver.pipe(numbers, 'ann', number)
  driver.settle()
  expect(driver.metrics).toMatchObject({ processed: 4, deadLetters: 1 })
})
