import { expect, test } from 'vitest'
import { changelogs } from '../../bench/trends/changelogs.ts'
import { partitionFor } from '../../kafka/partitioner.ts'
import { type TestDriver, testDriver } from '../../pipelines/engine/testing.ts'
import { trends } from '../../pipelines/trends/topology.ts'
import type { Topic } from '../../schemas/topic.ts'
import { trendOutput, trendRenewals, tweets } from '../../schemas/trends/topics.ts'
import type { TrendOutput } from '../../schemas/trends/types.ts'
import { demoStream } from '../../tools/demo/trends/stream.ts'
import { earlierLists } from './earlier-lists.ts'
import { expectedLists, type KnownTweet } from './expected.ts'
import { NO_PAST, type Past, pastOf } from './past.ts'
import { pastRows } from './write-past.ts'

const MINUTE = 60_000
const START = Date.UTC(2026, 0, 1, 12, 57, 1)
const SEED = 7
/** Tweets per second. */
const RATE = 4
/**
 * Periods in which the pipeline runs, in minutes after the start. The first period crosses a full hour. The third one
 * crosses the time at which the first terms get learned baselines.
 */
const RUNS = [
  [0, 4],
  [4, 7],
  [120, 125],
  [125, 128],
] as const
const USUAL_EVENTS = 1_000
/** Time limit of a test. The tests take seconds on one core, and many times as long on a busy machine. */
const TIMEOUT_MS = 600_000
const MAX_SHOWN = 10
const LEAST_LABELS = 5

const streamAt = (startAt: number) => demoStream({ seed: SEED, rate: RATE, startAt })

/** Starts the pipeline with a past. */
function driverWith(past: Past): TestDriver {
  const driver = testDriver(trends, { startAt: START })
  function write<K, V>(
    { topic, partitionBy }: { topic: Topic<K, V>; partitionBy?: (key: K) => Uint8Array },
    rows: Iterable<readonly [K, V]>,
  ) {
    for (const [key, row] of rows)
      driver.pipe(topic, key, row, partitionBy === undefined ? {} : { partition: partitionFor(partitionBy(key), topic.partitions) })
  }
  const { usual, rareTweets, history } = pastRows(past, START)
  write(changelogs.usual, usual)
  write(changelogs.rareTweets, rareTweets)
  write(changelogs.history, history)
  driver.restart({ wipeState: true })
  return driver
}

/**
 * Runs the pipeline, and compares all lists with what follows from `past`. The state folder is lost at every other
 * restart.
 * @param written the past that the pipeline finds
 */
function faultsOf(
  written: Past,
  runs: readonly (readonly [number, number])[] = RUNS,
): { faults: string[]; labels: Map<string | null, number> } {
  const driver = driverWith(written)
  const earlier = earlierLists(past)
  const log: KnownTweet[] = []
  const faults: string[] = []
  const labels = new Map<string | null, number>()
  for (const [index, [from, to]] of runs.entries()) {
    driver.restart({ wipeState: index % 2 === 1, downMs: START + from * MINUTE - driver.now })
    const stream = streamAt(driver.now)
    for (let event = stream.next(); event.at < START + to * MINUTE; event = stream.next()) {
      driver.advanceWallClock(event.at - driver.now)
      if (event.tweet === undefined) continue
      driver.pipe(tweets, event.tweet.user_id, event.tweet)
      log.push({ tweet: event.tweet, sentAt: driver.now, acknowledgedAt: driver.now })
    }
    driver.advanceWallClock(START + to * MINUTE - driver.now)
    const published = [...driver.read(trendOutput), ...driver.read(trendRenewals)].map(({ value }) => value as TrendOutput)
    const expected = expectedLists(log, undefined, earlier)
    for (const list of published.toSorted((a, b) => a.window_end - b.window_end)) {
      faults.push(...expected.faults(list))
      for (const { label } of list.entries) labels.set(label, (labels.get(label) ?? 0) + 1)
    }
  }
  return { faults, labels }
}

const past = pastOf(streamAt(START).next, USUAL_EVENTS, START)

test(
  'with given and learned baselines, across a full hour and after restarts, the lists of the pipeline have no faults',
  () => {
    const { faults, labels } = faultsOf(past)
    expect(faults.slice(0, MAX_SHOWN)).toEqual([])
    for (const label of ['Trending', 'Viral', null]) expect(labels.get(label)).toBeGreaterThanOrEqual(LEAST_LABELS)
  },
  TIMEOUT_MS,
)

test.each([
  ['the earlier lists', { ...past, histories: NO_PAST.histories }, / has the label null instead of /],
  ['the baselines', { ...past, baselines: NO_PAST.baselines }, / has the velocity /],
])(
  'a pipeline that ignores %s is reported',
  (_, written, reason) => {
    const { faults } = faultsOf(written, RUNS.slice(0, 2))
    expect(faults).toContainEqual(expect.stringMatching(reason))
  },
  TIMEOUT_MS,
)
