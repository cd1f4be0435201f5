import { existsSync } from 'node:fs'
import { commandLine } from '../../scripts/command-line/main.ts'
import { playInTime } from '../pace.ts'
import { runStreamCommand } from '../session.ts'
import { tweetProducer } from '../tweets/producer.ts'
import declaration from './main.command.ts'
import { readRecording, tweetMaker } from './recording.ts'
import { replayTimes } from './replay-times.ts'

const MS_PER_SECOND = 1_000
const REPORT_EVERY_MS = 10_000
/** Maximum number of rows in memory. */
const STRETCH_ROWS = 1_000

const {
  FILE: file,
  limit = Number.POSITIVE_INFINITY,
  'longest-gap': longestGapMs,
  'at-once': spreadMs,
  ...values
} = commandLine(declaration)

await runStreamCommand(async function replay({ say, stopped, pause, produce }) {
  if (!existsSync(file)) throw new Error(`${file} does not exist. Pass a CSV file of tweets`)
  const speed = spreadMs === undefined ? values.speed : (await lengthOf(file, limit, longestGapMs)) / spreadMs
  const startAt = Date.now() - (spreadMs ?? 0)
  let sent = 0
  let bad = 0
  say(`replaying ${file} ${spreadMs === undefined ? `${speed} times faster` : `as if written in the last ${spreadMs / MS_PER_SECOND} s`}`)
  const reporting = setInterval(() => say(`${sent} tweets sent`), REPORT_EVERY_MS)

  await produce(tweetProducer, async function playRecording(producer) {
    // After a failure, the replay continues after the last confirmed tweet.
    const arrived = sent
    let unconfirmed = sent
    let read = 0
    bad = 0
    const makeTweet = tweetMaker()
    const times = replayTimes(speed, longestGapMs)
    for await (const stretch of stretches(
      readRecording(file, () => bad++),
      limit,
    )) {
      const events = stretch.map((recorded) => ({ recorded, at: Math.floor(startAt + times.next(recorded.recordedAt)) }))
      let next = Math.min(Math.max(0, arrived - read), events.length)
      read += events.length
      await playInTime({
        next: () => events[next++],
        send({ recorded, at }) {
          producer.send(makeTweet(recorded, at), spreadMs === undefined ? at : Date.now())
          unconfirmed++
        },
        isFull: () => producer.isFull,
        async flush() {
          await producer.flush()
          sent = unconfirmed
        },
        now: Date.now,
        pause,
        stopped,
      })
      if (stopped()) break
    }
  }).finally(() => clearInterval(reporting))
  say(`${sent} tweets sent${bad > 0 ? `, ${bad} rows skipped because they are not tweets` : ''}`)
})

/** Groups rows into batches, so that at most one batch is in memory. */
async function* stretches<T>(rows: AsyncIterable<T>, limit: number): AsyncGenerator<T[]> {
  let stretch: T[] = []
  let read = 0
  for await (const row of rows) {
    if (++read > limit) break
    stretch.push(row)
    if (stretch.length < STRETCH_ROWS) continue
    yield stretch
    stretch = []
  }
  if (stretch.length > 0) yield stretch
}

/** Returns the duration in ms of the first `limit` rows of the recording. Gaps are shortened to `longestGapMs`. */
async function lengthOf(file: string, limit: number, longestGapMs: number): Promise<number> {
  const times = replayTimes(1, longestGapMs)
  let length = 0
  let read = 0
  for await (const { recordedAt } of readRecording(file, () => {})) {
    if (++read > limit) break
    length = times.next(recordedAt)
  }
  return length
}
