import fc from 'fast-check'
import { expect, test } from 'vitest'
import { partitionFor } from '../../../../kafka/partitioner.ts'
import { type TestDriver, testDriver } from '../../../../pipelines/engine/testing/test-driver.ts'
import { type CloseWithout, timeGate } from '../../../../pipelines/engine/time/time-gate.ts'
import { timeMark } from '../../../../pipelines/engine/time/time-mark.ts'
import { timeMarkerHeaders } from '../../../../pipelines/engine/time/time-marker.ts'
import { timeStore } from '../../../../pipelines/engine/time/time-store.ts'
import { isClosedBehind } from '../../../../pipelines/engine/time/time-thinning.ts'
import { topology } from '../../../../pipelines/engine/topology/topology.ts'
import { utf8 } from '../../../../schemas/keys.ts'
import { keyedStore } from '../../../../state/stores/keyed-store.ts'
import { memoryBackend } from '../../../../state/stores/memory-backend.ts'
import { numberFormat, numberTopic } from '../words.ts'

const MINUTE_MS = 60_000
const DELAY_MS = 5_000
const START = Date.UTC(2026, 0, 1, 12)
const SOURCE_PARTITIONS = 3
const votes = numberTopic('votes', SOURCE_PARTITIONS)
const results = numberTopic('results', 1)

/**
 * Creates a topology with three stages: the first aggregates votes per candidate until each commit, the second sums
 * them, and the third publishes the total per candidate every minute.
 * @param thinBehindMs the setting of this name for the second stage
 */
const electionThatThins = (thinBehindMs: number | undefined) =>
  topology('election', (t) => {
    const counts = t.repartition('counts', { key: utf8, value: numberFormat, partitions: 2 })
    const reports = t.repartition('reports', { key: utf8, value: numberFormat, partitions: 1 })

    const pending = new Map<string, number>()
    t.source(votes)
      .process('count', {}, (by, ctx) => void pending.set(ctx.key, (pending.get(ctx.key) ?? 0) + by))
      .beforeCommit('send', { emits: [counts] }, (ctx) => {
        for (const [candidate, by] of pending) ctx.emit(counts, candidate, by)
        pending.clear()
      })
      .markTime({ everyMs: MINUTE_MS, delayMs: DELAY_MS, to: counts })

    const totals = keyedStore('totals', { key: utf8, value: numberFormat })
    t.source(counts)
      .process('add', { stores: [totals] }, (by, ctx) => totals.put(ctx.key, (totals.get(ctx.key) ?? 0) + by))
      .onTime('report', { stores: [totals], emits: [reports], forwardTo: reports, thinBehindMs }, function* report(_time, ctx) {
        for (const [candidate, total] of totals.scan()) {
          ctx.emit(reports, candidate, total)
          yield
        }
      })

    const standing = keyedStore('standing', { key: utf8, value: numberFormat })
    t.source(reports)
      .process('take', { stores: [standing] }, (total, ctx) => standing.put(ctx.key, total))
      .onTime('publish', { stores: [standing], emits: [results] }, (time, ctx) => {
        for (const [candidate, total] of standing.scan())
          ctx.emit(results, `${new Date(time).toISOString().slice(11, 16)} ${candidate}`, total)
      })
  })
const election = electionThatThins(undefined)

/** Returns a key that is assigned to the partition. */
function voterOf(partition: number, partitions: number): string {
  const names = Array.from({ length: 20 }, (_, i) => `voter-${i}`)
  return names.find((name) => partitionFor(Buffer.from(name), partitions) === partition)!
}

/** Creates a driver, and drops the results for the last time that was due before its start. */
function running(commit: 'record' | 'manual' = 'record', tested = election) {
  const driver = testDriver(tested, { startAt: START + DELAY_MS, commit })
  driver.settle()
  published(driver)
  return driver
}
const published = (driver: TestDriver) => driver.read(results).map(({ key, value }) => `${key} ${value}`)

test('a time passes through all stages once the input before that time is processed, even if the input is silent', () => {
  const driver = running()
  for (const candidate of ['ann', 'bob', 'ann', 'cem']) driver.pipe(votes, candidate, 1)
  expect(published(driver)).toEqual([])
  driver.advanceWallClock(MINUTE_MS - 1)
  expect(published(driver)).toEqual([])
  driver.advanceWallClock(1)
  expect(published(driver)).toEqual(['12:01 ann 2', '12:01 bob 1', '12:01 cem 1'])
  driver.advanceWallClock(MINUTE_MS)
  expect(published(driver)).toEqual(['12:02 ann 2', '12:02 bob 1', '12:02 cem 1'])
})

test('each time is published once, and the gate keeps its state across restarts', () => {
  const driver = running()
  driver.pipe(votes, 'ann', 1)
  driver.advanceWallClock(MINUTE_MS)
  published(driver)
  for (const wipeState of [false, true]) {
    driver.restart({ wipeState })
    driver.settle()
    expect(published(driver)).toEqual([])
  }
  driver.advanceWallClock(MINUTE_MS)
  expect(published(driver)).toEqual(['12:02 ann 1'])
})

test('after a stop, only the latest time is published, and it includes the whole backlog', () => {
  const driver = running('manual')
  driver.advanceWallClock(MINUTE_MS)
  driver.settle()
  for (let i = 0; i < 20; i++) driver.pipe(votes, `voter-${i % 5}`, 1)
  driver.restart({ downMs: 10 * MINUTE_MS })
  driver.settle()
  expect(published(driver)).toEqual(['12:11 voter-0 4', '12:11 voter-1 4', '12:11 voter-2 4', '12:11 voter-3 4', '12:11 voter-4 4'])
})

test.each(['encoded', 'produced', 'offsets-added', 'committed', 'written'] as const)(
  'with a crash after "%s", each time is published once, and never before all of its input is counted',
  (step) => {
    const driver = running()
    for (let i = 0; i < 10; i++) driver.pipe(votes, `voter-${i}`, 1)
    driver.crashAt(step)
    expect(() => driver.advanceWallClock(MINUTE_MS)).toThrow('crash')
    driver.restart()
    driver.settle()
    driver.advanceWallClock(MINUTE_MS)
    const everybody = (time: string) => Array.from({ length: 10 }, (_, i) => `${time} voter-${i} 1`)
    expect(published(driver)).toEqual([...everybody('12:01'), ...everybody('12:02')])
  },
)

test('a stage without a time handler does not process time markers as records', () => {
  const seen: unknown[] = []
  const marking = topology('marking', (t) => {
    const middle = t.repartition('middle', { key: utf8, value: numberFormat, partitions: 1 })
    t.source(votes).markTime({ everyMs: MINUTE_MS, delayMs: 0, to: middle })
    t.source(middle).process('see', {}, (value) => void seen.push(value))
  })
  const driver = testDriver(marking, { startAt: START })
  driver.advanceWallClock(2 * MINUTE_MS)
  expect(seen).toEqual([])
  expect(driver.readDeadLetters()).toEqual([])
})

function gate(stages: readonly string[], forwarding: readonly string[] = [], without?: CloseWithout) {
  const session = memoryBackend().session('gate')
  let { store, current } = opened()

  function opened() {
    const store = timeStore('t')
    store.open({ column: session.column('t', 0), codec: store.values.open(0, { get: () => undefined }), cacheBytes: 0 })
    return { store, current: timeGate(stages, forwarding, store, without) }
  }

  return {
    due: () => current.due(),
    missing: (time: number) => current.missing(time),
    close: (time: number) => current.close(time),
    accept: (stage: string, partition: number, partitions: number, time: number) => current.accept({ stage, partition, partitions, time }),
    /** Commits the gate's state, and continues with a new gate that has read this state. */
    handOver() {
      store.flush(undefined)
      session.write()
      ;({ store, current } = opened())
    },
  }
}

const minute = (number: number) => START + number * MINUTE_MS

/** Creates a driver whose first stage gets no votes. The test itself writes the input of the second stage. */
function secondStage(tested: typeof election) {
  const driver = running('manual', tested)
  const counts = 'election-counts-repartition'
  const [ann, bob] = [0, 1].map((partition) => voterOf(partition, 2))
  function vote(partition: number, candidate: string): void {
    driver.broker.append(counts, partition, { timestamp: START, key: Buffer.from(candidate), value: Buffer.from('1'), headers: [] })
  }
  function mark(partition: number, upstream: number, time: number): void {
    const headers = timeMarkerHeaders({ stage: votes.name, partition: upstream, partitions: SOURCE_PARTITIONS, time })
    driver.broker.append(counts, partition, { timestamp: time, key: null, value: null, headers })
  }
  function markAll(partition: number, time: number): void {
    for (let upstream = 0; upstream < SOURCE_PARTITIONS; upstream++) mark(partition, upstream, time)
  }
  return { driver, ann, bob, vote, mark, markAll }
}

test('a time that one partition of the previous stage has skipped is not published without that partition', () => {
  const { driver, ann, bob, vote, mark } = secondStage(election)
  vote(0, ann)
  vote(1, bob)
  // The third upstream partition was down at minute 1. At minute 2, two workers send markers concurrently, so
  // partitions 0 and 1 receive the markers in different orders.
  for (const partition of [0, 1]) for (const upstream of [0, 1]) mark(partition, upstream, minute(1))
  for (const upstream of [0, 1, 2]) mark(0, upstream, minute(2))
  for (const upstream of [2, 1, 0]) mark(1, upstream, minute(2))
  driver.settle()
  expect(published(driver).sort()).toEqual([`12:02 ${ann} 1`, `12:02 ${bob} 1`].sort())
})

test('a stage that is behind skips times and includes their records in its next time, even if some partitions are further behind', () => {
  const thinning = electionThatThins(MINUTE_MS)
  const { driver, ann, bob, vote, markAll } = secondStage(thinning)
  const nineMinutes = (partition: number, candidate: string) => {
    for (let number = 1; number <= 9; number++) {
      vote(partition, candidate)
      markAll(partition, minute(number))
    }
  }
  // Partition 0 is not behind, so it closes all times. Partition 1 gets the same times only at 12:10, so it skips most
  // of them.
  nineMinutes(0, ann)
  driver.settle()
  driver.restart({ downMs: 10 * MINUTE_MS })
  nineMinutes(1, bob)
  driver.settle()
  const lists = published(driver)
  expect(lists).toContain(`12:08 ${bob} 8`)
  expect(lists).toContain(`12:10 ${bob} 9`)
  expect(lists.filter((list) => list.includes(ann)).map((list) => list.slice(0, 5))).toEqual(['12:08', '12:10'])
  expect(driver.metrics.counts.get('times_passed_over')).toBe(8)
})

test('without thinning, a stage closes all times, however late they are', () => {
  const { driver, ann, vote, markAll } = secondStage(election)
  driver.restart({ downMs: 0 })
  vote(0, ann)
  for (const partition of [0, 1]) for (const number of [1, 2, 3]) markAll(partition, minute(number))
  driver.restart({ downMs: 60 * MINUTE_MS })
  driver.settle()
  expect(published(driver).slice(0, 3)).toEqual([`12:01 ${ann} 1`, `12:02 ${ann} 1`, `12:03 ${ann} 1`])
})

test('the times that a stage closes at a higher lag are a subset of the times that it closes at a lower lag', () => {
  const lag = fc.integer({ min: -MINUTE_MS, max: 3_600_000 })
  fc.assert(
    fc.property(fc.nat(10_000), lag, lag, (number, a, b) => {
      const [near, far] = [Math.min(a, b), Math.max(a, b)]
      const time = number * MINUTE_MS
      if (isClosedBehind(time, far, MINUTE_MS)) expect(isClosedBehind(time, near, MINUTE_MS)).toBe(true)
      // A stage whose lag is `far` closes times at intervals of at least `far`.
      const step = [...Array(128).keys()].findIndex((each) => each > 0 && isClosedBehind(each * MINUTE_MS, far, MINUTE_MS))
      expect(step * MINUTE_MS).toBeGreaterThanOrEqual(Math.min(far, 64 * MINUTE_MS))
    }),
  )
})

test('a time from a stage that forwards times is due only when all of its partitions have closed the same time', () => {
  const { accept, due, close } = gate(['counts'], ['counts'])
  accept('counts', 0, 2, 100)
  accept('counts', 1, 2, 100)
  expect(due()).toBe(100)
  close(100)
  accept('counts', 0, 2, 300)
  accept('counts', 1, 2, 200)
  // A restarted task repeats its marker.
  accept('counts', 1, 2, 200)
  expect(due()).toBeUndefined()
  accept('counts', 1, 2, 300)
  expect(due()).toBe(300)
})

test('no time is due while a partition has sent no markers', () => {
  const { accept, due } = gate(['votes'])
  accept('votes', 0, 3, 100)
  accept('votes', 2, 3, 100)
  expect(due()).toBeUndefined()
  accept('votes', 1, 3, 100)
  expect(due()).toBe(100)
})

test.each([{ forwarding: [] }, { forwarding: ['votes'] }])(
  'with closeWithout, a time is due without a quarter of the partitions once the other partitions are a minute ahead ($forwarding)',
  ({ forwarding }) => {
    const { accept, due, missing, close } = gate(['votes'], forwarding, { share: 0.25, afterMs: MINUTE_MS })
    for (const partition of [0, 1, 2, 3]) accept('votes', partition, 4, minute(1))
    expect([due(), missing(minute(1))]).toEqual([minute(1), 0])
    close(minute(1))
    for (const partition of [0, 1, 2]) accept('votes', partition, 4, minute(2))
    expect(due()).toBeUndefined()
    for (const partition of [0, 1]) accept('votes', partition, 4, minute(3))
    expect(due()).toBeUndefined()
    accept('votes', 2, 4, minute(3))
    expect([due(), missing(minute(2))]).toEqual([minute(2), 1])
    close(minute(2))
    // The missing partition sends times again.
    for (const time of [minute(2), minute(3)]) accept('votes', 3, 4, time)
    expect([due(), missing(minute(3))]).toEqual([minute(3), 0])
  },
)

test('closeWithout waits if more than a quarter of the partitions are missing, and after a stop of all partitions it waits for each of them', () => {
  const { accept, due } = gate(['votes'], [], { share: 0.25, afterMs: MINUTE_MS })
  for (const number of [1, 2, 3]) for (const partition of [0, 1]) accept('votes', partition, 4, minute(number))
  expect(due()).toBeUndefined()
  const restarted = gate(['votes'], [], { share: 0.25, afterMs: MINUTE_MS })
  for (const partition of [0, 1, 2, 3]) restarted.accept('votes', partition, 4, minute(1))
  restarted.close(minute(1))
  // All partitions were stopped for an hour. Partition 3 is still reading its backlog, so the stage must wait for its
  // time.
  for (const partition of [0, 1, 2]) restarted.accept('votes', partition, 4, minute(61))
  expect(restarted.due()).toBeUndefined()
})

test('no time is due while one of several stages has sent no markers', () => {
  const { accept, due } = gate(['votes', 'late-votes'])
  accept('votes', 0, 1, 100)
  expect(due()).toBeUndefined()
  accept('late-votes', 0, 1, 200)
  expect(due()).toBe(100)
})

test('time never goes back when old markers are repeated', () => {
  const { accept, due, close } = gate(['votes'])
  accept('votes', 0, 1, 200)
  close(200)
  for (const time of [100, 200]) {
    accept('votes', 0, 1, time)
    expect(due()).toBeUndefined()
  }
  accept('votes', 0, 1, 300)
  expect(due()).toBe(300)
})

test('once the clock of a partition that was briefly an hour ahead is corrected, later stages wait for this partition again, even after a hand-over', () => {
  const { accept, due, close, handOver } = gate(['votes'])
  for (const partition of [0, 1]) accept('votes', partition, 2, minute(1))
  close(minute(1))
  accept('votes', 0, 2, minute(61))
  handOver()
  accept('votes', 1, 2, minute(2))
  expect(due()).toBe(minute(2))
  close(minute(2))
  handOver()
  // The clock of partition 0 is correct again, so its earlier marker from the future does not cover minute 3.
  accept('votes', 0, 2, minute(2))
  accept('votes', 1, 2, minute(3))
  accept('votes', 1, 2, minute(4))
  expect(due()).toBeUndefined()
  accept('votes', 0, 2, minute(4))
  expect(due()).toBe(minute(4))
})

test('if all clocks were ahead, no time is due until the markers have passed the last closed time', () => {
  const { accept, due, close } = gate(['votes'])
  accept('votes', 0, 1, minute(61))
  expect(due()).toBe(minute(61))
  close(minute(61))
  for (const number of [2, 3, 61]) {
    accept('votes', 0, 1, minute(number))
    expect(due()).toBeUndefined()
  }
  accept('votes', 0, 1, minute(62))
  expect(due()).toBe(minute(62))
})

test('the gate waits for the new partitions of an upstream stage that has gained partitions', () => {
  const { accept, due, close } = gate(['votes'])
  accept('votes', 0, 1, 100)
  close(100)
  accept('votes', 0, 2, 200)
  expect(due()).toBeUndefined()
  accept('votes', 1, 2, 200)
  expect(due()).toBe(200)
})

test('the gate closes times in ascending order, and only times that all partitions have reached', () => {
  const event = fc.record({ partition: fc.nat(2), time: fc.integer({ min: 1, max: 20 }) })
  fc.assert(
    fc.property(fc.array(event, { maxLength: 60 }), (events) => {
      const { accept, due, close } = gate(['s'])
      const latest = [0, 0, 0]
      let closed = 0
      for (const { partition, time } of events) {
        accept('s', partition, 3, time)
        latest[partition] = time
        const next = due()
        const reached = Math.min(...latest)
        expect(next).toBe(reached > closed ? reached : undefined)
        if (next !== undefined) {
          close(next)
          closed = next
        }
      }
    }),
  )
})

test('a first stage marks a time when it has processed all records that were in the log at a fetch after that time', () => {
  const mark = timeMark(100, 10, 1)
  mark.observe(0, 205, 50, 205)
  expect(mark.ready([{ position: 49 }])).toBeUndefined()
  expect(mark.ready([{ position: 50 }])).toBe(100)
  mark.sent()
  expect(mark.ready([{ position: 60 }])).toBeUndefined()
  mark.observe(0, 209, 60, 209)
  expect(mark.ready([{ position: 60 }])).toBeUndefined()
  mark.observe(0, 210, 70, 210)
  expect(mark.ready([{ position: 69 }])).toBeUndefined()
  expect(mark.ready([{ position: 70 }])).toBe(200)
})

test('while a backlog is processed, the position at which a time is marked does not move, so that the stage can reach it', () => {
  const mark = timeMark(100, 0, 1)
  mark.observe(0, 100, 1_000, 100)
  for (let time = 200; time < 1_000; time += 100) mark.observe(0, time, time * 100, time)
  expect(mark.ready([{ position: 1_000 }])).toBe(100)
  mark.sent()
  mark.observe(0, 1_050, 5_000, 1_050)
  expect(mark.ready([{ position: 5_000 }])).toBe(1_000)
})

test('a first stage does not wait forever for records that its source has lost', () => {
  const mark = timeMark(100, 0, 1)
  mark.observe(0, 100, 50, 100)
  // A new leader may need some time before it serves all of its records to readers.
  mark.observe(0, 200, 45, 200)
  mark.observe(0, 10_000, 50, 10_000)
  mark.observe(0, 20_000, 45, 20_000)
  mark.observe(0, 49_000, 46, 49_000)
  expect(mark.ready([{ position: 46 }])).toBeUndefined()
  mark.observe(0, 50_001, 47, 50_001)
  expect(mark.ready([{ position: 46 }])).toBeUndefined()
  expect(mark.ready([{ position: 47 }])).toBe(100)
})

test('with several sources, a time is marked only after each source has been fetched after that time', () => {
  const mark = timeMark(100, 10, 2)
  mark.observe(0, 110, 5, 110)
  mark.observe(1, 105, 7, 111)
  expect(mark.ready([{ position: 9 }, { position: 9 }])).toBeUndefined()
  mark.observe(1, 111, 8, 111)
  expect(mark.ready([{ position: 5 }, { position: 7 }])).toBeUndefined()
  expect(mark.ready([{ position: 5 }, { position: 8 }])).toBe(100)
})

test('a first stage reports the time from which it needs fresh high watermarks, even without input', () => {
  const mark = timeMark(100, 10, 2)
  expect(mark.asksFrom).toBe(-Infinity)
  mark.observe(0, 205, 5, 205)
  // Only one of two sources has reported its high watermark for time 100.
  expect(mark.asksFrom).toBe(110)
  mark.observe(1, 206, 7, 206)
  expect(mark.asksFrom).toBe(Infinity)
  expect(mark.ready([{ position: 5 }, { position: 7 }])).toBe(100)
  mark.sent()
  expect(mark.asksFrom).toBe(210)
  mark.observe(0, 209, 5, 209)
  mark.observe(1, 209, 7, 209)
  expect(mark.asksFrom).toBe(210)
})

test('a marker is readable text in a console consumer', () => {
  const [header] = timeMarkerHeaders({ stage: 'votes', partition: 1, partitions: 3, time: START })
  expect(`${header.key}: ${header.value}`).toBe(`millrace-time: ${START} 1/3 votes`)
})

test('after the clock was set back by an hour, times of the corrected clock are sent', () => {
  const hour = 3_600_000
  const mark = timeMark(100, 0, 2)
  mark.observe(0, 10 * hour, 5, 10 * hour)
  mark.observe(0, 9 * hour, 6, 9 * hour)
  mark.observe(1, 9 * hour, 7, 9 * hour)
  expect(mark.ready([{ position: 6 }, { position: 7 }])).toBe(9 * hour)
  mark.sent()
  mark.observe(0, 8 * hour, 8, 8 * hour)
  mark.observe(1, 8 * hour, 8, 8 * hour)
  expect(mark.ready([{ position: 8 }, { position: 8 }])).toBe(8 * hour)
})

test('responses that arrive out of order do not produce a time twice', () => {
  const mark = timeMark(100, 0, 1)
  mark.observe(0, 1_000, 5, 1_000)
  mark.sent()
  mark.observe(0, 700, 5, 1_001)
  expect(mark.ready([{ position: 5 }])).toBeUndefined()
})

test('after a clock was briefly ahead, a late response to an earlier request confirms no time in the future', () => {
  const mark = timeMark(100, 0, 1)
  mark.observe(0, 21_000, 5, 21_000)
  expect(mark.ready([{ position: 5 }])).toBe(21_000)
  mark.sent()
  // The request was sent while the clock was ahead. The response arrived after the clock had been corrected.
  mark.observe(0, 21_050, 6, 1_070)
  expect(mark.ready([{ position: 6 }])).toBeUndefined()
  mark.observe(0, 1_110, 7, 1_111)
  expect(mark.ready([{ position: 7 }])).toBe(1_100)
})

test('a time that was pending when the clock was corrected is not sent', () => {
  const mark = timeMark(100, 0, 1)
  mark.observe(0, 21_000, 5, 21_000)
  mark.observe(0, 1_110, 7, 1_111)
  expect(mark.ready([{ position: 7 }])).toBe(1_100)
})

test('if the clock is set back by at most 500 ms, no time occurs twice; after a greater step back, times of the corrected clock are sent', () => {
  const mark = timeMark(100, 0, 1, 500)
  mark.observe(0, 1_000, 5, 1_000)
  mark.sent()
  mark.observe(0, 600, 6, 600)
  expect(mark.ready([{ position: 6 }])).toBeUndefined()
  mark.observe(0, 1_100, 7, 1_100)
  expect(mark.ready([{ position: 7 }])).toBe(1_100)
  mark.sent()
  mark.observe(0, 510, 8, 510)
  expect(mark.ready([{ position: 8 }])).toBe(500)
})
