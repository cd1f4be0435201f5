import { existsSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { parseDuration, parseNumber, UsageError } from '../duration.ts'
import { playInTime } from '../pace.ts'
import { tweetTarget } from '../tweets/config.ts'
import { runTweetCommand } from '../tweets/session.ts'
import { readRecording, tweetMaker } from './recording.ts'
import { replayTimes } from './replay-times.ts'

const USAGE = `Replays a file of real tweets (CSV, gzipped or not; columns tweet_id, created_at, text, and event if there is one).

  npm run replay -- FILE [--speed N] [--limit N] [--longest-gap 1h] [--at-once 50m]

  --speed        how many times faster than they were written (default 2000: the 42 days of the six events take half an hour)
  --limit        only the first N tweets
  --longest-gap  silences of the recording are cut to this (default 1h)
  --at-once      do not wait: spread the tweets' times over so long before now, and send them as fast as they are taken

Tweets are created when they are played, since trends are counted by created_at: at speed 2000 a window of 60 minutes holds 83 days of the recording's
time. Hashtags and phrases are taken from the text. The recording names neither users nor places; each tweet's id decides them, half of an
event's tweets coming from its own country.`
const REPORT_EVERY_MS = 10_000
/** Rows held at a time. */
const STRETCH_ROWS = 1_000

await runTweetCommand(async function replay({ say, stopped, pause, produce }) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      speed: { type: 'string', default: '2000' },
      limit: { type: 'string' },
      'longest-gap': { type: 'string', default: '1h' },
      'at-once': { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return say(USAGE)
  const [file] = positionals
  if (file === undefined || positionals.length > 1) throw new UsageError(`name one file to replay\n\n${USAGE}`)
  if (!existsSync(file)) throw new UsageError(`${file} is not there: name a CSV file of tweets`)
  const longestGapMs = parseDuration('longest-gap', values['longest-gap'])
  const limit = values.limit === undefined ? Number.POSITIVE_INFINITY : parseNumber('limit', values.limit, 1)
  const spreadMs = values['at-once'] === undefined ? undefined : parseDuration('at-once', values['at-once'])
  const speed = spreadMs === undefined ? parseNumber('speed', values.speed, 1e-6) : (await lengthOf(file, limit, longestGapMs)) / spreadMs
  const startAt = Date.now() - (spreadMs ?? 0)
  let sent = 0
  let bad = 0
  say(`replaying ${file} ${spreadMs === undefined ? `${speed} times faster` : `as if written in the last ${values['at-once']}`}`)
  const reporting = setInterval(() => say(`${sent} tweets sent`), REPORT_EVERY_MS)

  await produce(tweetTarget(), async function playRecording(producer) {
    // After a failure it goes on behind the last tweet that is known to have arrived.
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
  say(`${sent} tweets sent${bad > 0 ? `, ${bad} rows left out that are no tweets` : ''}`)
})

/** The rows in stretches, so that no more than one is held. */
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

/** Ms of the recording, silences cut. */
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
