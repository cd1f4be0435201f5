import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { testDriver } from '../../../pipelines/engine/testing/test-driver.ts'
import { trends } from '../../../pipelines/trends/topology.ts'
import { trendOutput, trendRenewals, tweets } from '../../../schemas/trends/topics.ts'
import type { TrendEntry, TrendOutput } from '../../../schemas/trends/types.ts'
import { readRecording, tweetMaker } from '../../../tools/replay/recording.ts'
import { replayTimes } from '../../../tools/replay/replay-times.ts'
import { expectEqual } from '../../expect-equal.ts'
import { dataTest } from '../../public-data.ts'
import { GENERATED_EVENTS, writeGeneratedRecording } from './generated-recording.ts'
import { offlineTrends, type SentTweet } from './offline.ts'

const MINUTE = 60_000
const START = Date.UTC(2026, 0, 1, 12, 0, 0)
/**
 * Step between the tweets that are read: every sixth of 60,000, to save time. The end-to-end tests replay all of them.
 */
const TAKEN = 6
/** Number of generated tweets: enough for the lists of many regions to have entries. */
const GENERATED_TWEETS = 2_000
/**
 * Speed of the replay. It compresses the 42 days of the six events into about four hours, so that the first events
 * leave the window, and terms get baselines and labels before the end.
 */
const SPEED = 240
const LONGEST_GAP_MS = 60 * MINUTE
const SERVED = 30
const LEADERS = 15
const STRIDE_MS = 36 * MINUTE
const ARRIVAL_DELAY_MS = 2_000
/** Step of the test clock. It is shorter than the five minutes by which the time of a tweet may be in the future. */
const STEP_MS = 4 * MINUTE
const EVENTS = ['hurricane sandy', 'flood crisis', 'boston marathon', 'fertilizer plant', 'oklahoma', 'yycflood']
/**
 * Number of digits to which fractions are compared. The offline computation adds numbers in a different order, so the
 * last digits may differ.
 */
const DIGITS = 9
const TIMEOUT_MS = 300_000

async function recordedTweets(path: string, taken: number): Promise<SentTweet[]> {
  const times = replayTimes(SPEED, LONGEST_GAP_MS)
  const makeTweet = tweetMaker()
  const sent: SentTweet[] = []
  let read = 0
  for await (const recorded of readRecording(path, () => {})) {
    if (read++ % taken !== 0) continue
    const sentAt = START + Math.floor(times.next(recorded.recordedAt))
    sent.push({ tweet: makeTweet(recorded, sentAt), sentAt })
  }
  return sent
}

/**
 * Compares lists at intervals of 36 minutes with the offline computation. Returns the number of non-empty lists, the
 * number of lists with folded terms, the number of labels, and the terms that were among the first 15 of a worldwide
 * list.
 */
function compareWithOffline(sent: readonly SentTweet[]): { compared: number; folded: number; labels: number; leaders: Set<string> } {
  const offline = offlineTrends(sent)
  const driver = testDriver(trends, { startAt: START, commit: 'manual', cacheBytes: 8 * 1024 * 1024 })
  driver.settle()
  // A worker that starts publishes the renewal that was due last. These lists are empty.
  for (const topic of [trendOutput, trendRenewals]) driver.read(topic)
  const seen = { compared: 0, folded: 0, labels: 0, leaders: new Set<string>() }
  let next = 0
  for (let windowEnd = START + STRIDE_MS; next < sent.length; windowEnd += STRIDE_MS) {
    // A list is published once everything that was sent up to two seconds after the end of its window has been read.
    while (driver.now < windowEnd + ARRIVAL_DELAY_MS) {
      const until = Math.min(driver.now + STEP_MS, windowEnd + ARRIVAL_DELAY_MS)
      for (; next < sent.length && sent[next].sentAt <= until; next++) {
        const { tweet, sentAt } = sent[next]
        driver.pipe(tweets, tweet.user_id, tweet, { timestamp: sentAt })
      }
      driver.advanceWallClock(until - driver.now)
    }
    driver.settle()
    const lists = driver.read(trendOutput).map(({ value }) => value as TrendOutput)
    // Velocities, labels, baselines and the starts of trends depend on the earlier lists, so no other window may have
    // been published in between.
    expect(new Set(lists.map(({ window_end }) => window_end))).toEqual(new Set([windowEnd]))
    expect(driver.read(trendRenewals)).toHaveLength(0)
    expect(lists).toHaveLength(551)
    for (const { term } of lists.find((list) => list.woeid === 1)?.entries.slice(0, LEADERS) ?? []) seen.leaders.add(term)
    seen.folded += lists.filter(({ entries }) => entries.some(({ variants }) => variants.length > 0)).length
    const expected = offline.listsAt(windowEnd)
    for (const { woeid, entries } of lists) {
      const truth = (expected.get(woeid) ?? []).slice(0, SERVED)
      expectEqual(entries.slice(0, SERVED).map(rounded), truth.map(rounded))
      if (truth.length > 0) seen.compared++
      seen.labels += truth.filter(({ label }) => label !== null).length
    }
  }
  return seen
}

dataTest(
  'tweets',
  'the lists of real tweets have the true top 30 of every region with exact counts, scores and labels, and the known events near the top',
  async (path) => {
    const { compared, folded, labels, leaders } = compareWithOffline(await recordedTweets(path, TAKEN))
    expect(compared).toBeGreaterThan(500)
    expect(folded).toBeGreaterThan(10)
    expect(labels).toBeGreaterThan(10)
    for (const term of EVENTS) expect(leaders).toContain(term)
  },
  TIMEOUT_MS,
)

test(
  'the lists of generated tweets have the true top 30 of every region with exact counts, scores and labels, and the generated events are near the top of the worldwide list',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-test-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const path = join(folder, 'recording.csv.gz')
    writeGeneratedRecording(path, GENERATED_TWEETS)
    const { compared, folded, labels, leaders } = compareWithOffline(await recordedTweets(path, 1))
    expect(compared).toBeGreaterThan(500)
    expect(folded).toBeGreaterThan(10)
    expect(labels).toBeGreaterThan(10)
    for (const term of GENERATED_EVENTS) expect(leaders).toContain(term)
  },
  TIMEOUT_MS,
)

function rounded(entry: TrendEntry): TrendEntry {
  const { velocity_vs_usual, score } = entry
  return { ...entry, velocity_vs_usual: Number(velocity_vs_usual.toFixed(DIGITS)), score: Number(score.toFixed(DIGITS)) }
}
