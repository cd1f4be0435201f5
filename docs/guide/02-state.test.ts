/**
 * # 2. State
 *
 * To answer most questions about a stream, a processor has to remember something: how far has this bike gone since its
 * last inspection? The engine keeps this memory in *stores*. To a processor, a store is a map that it reads and writes
 * without waiting. The data is in RocksDB on the local disk. Every change also goes to a compacted Kafka topic, the
 * store's *changelog*, from which the engine restores the state if the disk is lost.
 *
 * You need chapter 1.
 */

import { expect, test } from 'vitest'
import { avroValue, type KeyedStore, keyedStore, type Topic, topology, utf8 } from '../../pipelines/engine/index.ts'
import { testDriver } from '../../pipelines/engine/testing.ts'

interface Ride {
  bike: string
  km: number
}

const rides: Topic<string, Ride> = {
  name: 'rides',
  key: utf8, // the bike
  value: avroValue<Ride>({
    type: 'record',
    name: 'Ride',
    fields: [
      { name: 'bike', type: 'string' },
      { name: 'km', type: 'double' },
    ],
  }),
  partitions: 2,
}

/** How much a bike has been used since its last inspection. */
interface Wear {
  km: number
  rides: number
}

const wearFormat = avroValue<Wear>({
  type: 'record',
  name: 'Wear',
  fields: [
    { name: 'km', type: 'double' },
    { name: 'rides', type: 'int' },
  ],
})

const inspections: Topic<string, Wear> = { name: 'inspections', key: utf8, value: wearFormat, partitions: 2 }

/** Distance after which a bike is inspected. */
const INSPECT_AFTER_KM = 100
const asNew: Wear = { km: 0, rides: 0 }

/** Adds a ride. The function is pure: it returns a new object instead of changing the old one. */
function worn(wear: Wear, ride: Ride): Wear {
  return { km: wear.km + ride.km, rides: wear.rides + 1 }
}

/*
 * ## A keyed store
 *
 * `keyedStore` keeps one value per key. Its name must not change later, because it is part of the name of the changelog
 * topic and of the keys on disk.
 *
 * `reads` announces the state that a record will need. The engine calls `reads` for every record of a batch before it
 * processes the first of them, and then reads all the keys from RocksDB at once. This is much cheaper than reading them
 * one by one. `reads` is only a hint: `get` also reads keys that were not announced. `stores` lists the stores that the
 * processor uses. From this list, the engine creates the stores' changelogs, and `describe()` shows the stores. A
 * processor that uses a store without listing it fails at its first record, in the test driver as well as in
 * production.
 */
const brakeChecks = topology('brake-checks', (t) => {
  const wear = keyedStore('wear', { key: utf8, value: wearFormat })

  t.source(rides).process(
    'add-wear',
    { reads: (ride) => wear.prefetch(ride.bike), stores: [wear], emits: [inspections] },
    function addWear(ride, ctx) {
      const next = worn(wear.get(ride.bike) ?? asNew, ride)
      if (next.km < INSPECT_AFTER_KM) return wear.put(ride.bike, next)
      ctx.emit(inspections, ride.bike, next)
      wear.delete(ride.bike)
    },
  )
})

/** Creates the record of one ride. */
function ride(km: number, bike = 'bike-7'): [Topic<string, Ride>, string, Ride] {
  return [rides, bike, { bike, km }]
}

test('a bike is inspected after 100 km, and then the distance is counted from 0 again', () => {
  const driver = testDriver(brakeChecks)
  driver.pipe(...ride(60))
  expect(driver.read(inspections)).toEqual([])

  driver.pipe(...ride(45))
  expect(driver.read(inspections).map((record) => record.value)).toEqual([{ km: 105, rides: 2 }])

  driver.pipe(...ride(60))
  expect(driver.read(inspections)).toEqual([])
})

/*
 * ## Partitions of state
 *
 * The build function runs once per task, so every task has its own stores, which contain only the keys of its own
 * partition. Therefore, processors need no locks, and the state can grow with the number of partitions. If the state
 * needs a different key from the records, you need a second stage (chapter 3). Tests read a task's store with
 * `driver.store(name, partition)`.
 */
test('each partition has its own part of the state', () => {
  const driver = testDriver(brakeChecks)
  driver.pipe(...ride(10), { partition: 0 })
  driver.pipe(...ride(20, 'bike-8'), { partition: 1 })

  const wearOf = (partition: number) => [...driver.store<KeyedStore<string, Wear>>('wear', partition).scan()]
  expect(wearOf(0)).toEqual([['bike-7', { km: 10, rides: 1 }]])
  expect(wearOf(1)).toEqual([['bike-8', { km: 20, rides: 1 }]])
})

/*
 * ## A restart
 *
 * The engine writes changed state to RocksDB together with the source offsets and the position in the changelog, in one
 * atomic batch. The position in the changelog shows exactly which changes the state lacks, and a restarted worker reads
 * only these changes. If the state folder is lost, the worker reads the whole changelog. The state is the same in both
 * cases, and the following test covers both.
 */
test.each([false, true])('the state survives a restart (folder lost: %s)', (wipeState) => {
  const driver = testDriver(brakeChecks)
  driver.pipe(...ride(60))
  driver.restart({ wipeState })
  driver.pipe(...ride(45))

  expect(driver.read(inspections).map((record) => record.value)).toEqual([{ km: 105, rides: 2 }])
})

/*
 * The changelog is an ordinary topic, `<topology>-<store>-changelog`. If a key changes many times between two commits,
 * the changelog gets one record, with the last value. A deleted key is a record without a value, a tombstone.
 */
test('the changelog has only the last change of a key in each commit', () => {
  const driver = testDriver(brakeChecks, { commit: 'manual', partitions: { rides: 1 } })
  for (const km of [10, 20, 30]) driver.pipe(...ride(km))
  driver.settle()
  driver.pipe(...ride(50))
  driver.settle()

  const changes = driver.broker.records('brake-checks-wear-changelog')
  expect(changes.map((change) => (change.value === null ? 'deleted' : 'put'))).toEqual(['put', 'deleted'])
})

/*
 * ## A common mistake
 *
 * A keyed store caches values as objects and encodes them only at the commit, so `get` returns the same object that was
 * `put`. If you modify that object without putting it again, the change is never saved. Your topology seems to work
 * until the object is evicted from the cache or the worker restarts. Either create new objects, as `worn` does, or put
 * every object that you have modified. A test with a restart reveals the mistake.
 */
test('a modified object loses its change at a restart if it is not put again', () => {
  const careless = topology('careless', (t) => {
    const wear = keyedStore('wear', { key: utf8, value: wearFormat })
    t.source(rides).process('add-wear', { stores: [wear] }, (ride) => {
      const known = wear.get(ride.bike)
      if (known === undefined) return wear.put(ride.bike, worn(asNew, ride))
      known.km += ride.km // without put
    })
  })
  const driver = testDriver(careless, { partitions: { rides: 1 } })
  const km = () => driver.store<KeyedStore<string, Wear>>('wear').get('bike-7')?.km
  driver.pipe(...ride(10))
  driver.pipe(...ride(10))

  expect(km()).toBe(20)
  driver.restart()
  expect(km()).toBe(10)
})

/*
 * ## Other stores
 *
 * | store | contents | chapter |
 * |---|---|---|
 * | `keyedStore` | one value per key; `scan` reads keys in order, by range or prefix | this one |
 * | `windowedCounterStore` | counts per key in a ring of time buckets | 4 |
 * | `timerStore` | at most one timer per key; the store returns the timers that are due | 5 |
 * | `topKStore` | the K best of each group, in order | 6 |
 * | `joinBufferStore` | values of one stream by key and time, in which the other side of a join looks for matches | 16 |
 * | `seenSetStore` | sets that take a few bits per item, with rare false positives | 16 |
 *
 * Each of these stores has the option `logged: false`, for state that may be lost or can be computed again. Such a
 * store has no changelog.
 *
 * All stores of all tasks of a process share one RocksDB database, except that stores whose values must be erased share
 * a second one. The two have one memory budget, so their memory does not grow with the number of stores and partitions.
 *
 * Read next: chapter 3, two stages. Sources: `state/stores/keyed-store.ts`, `state/stores/store.ts` (the life cycle of
 * a change), `pipelines/engine/state/restore.ts`.
 */
