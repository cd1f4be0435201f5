import { parseArgs } from 'node:util'
import { parseDuration, parseNumber } from '../duration.ts'
import { playInTime } from '../pace.ts'
import { tweetTarget } from '../tweets/config.ts'
import { runTweetCommand } from '../tweets/session.ts'
import { demoEvents } from './report.ts'
import { demoStream } from './stream.ts'

const USAGE = `Plays a live stream of made-up tweets: people by Zipf's law in places by population, things that really trend, bots, retweet
storms, late and malformed events. The same seed plays the same stream.

  npm run demo -- [--rate N] [--for 10m] [--seed N]

  --rate   events per second (default 40)
  --for    how long, such as 90s, 10m, 2h (default: until stopped)
  --seed   which stream (default 1)`
const REPORT_EVERY_MS = 15_000
/** Bytes in the place of a tweet: the first is no format byte, the second names a schema that does not exist. */
const MALFORMED = [Buffer.from('not a tweet'), Buffer.from([0, 0x7f, 0xff, 0xff, 0xff, 1, 2, 3])]

await runTweetCommand(async function demo({ say, stopped, pause, produce }) {
  const { values } = parseArgs({
    options: {
      rate: { type: 'string', default: '40' },
      for: { type: 'string' },
      seed: { type: 'string', default: '1' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) return say(USAGE)
  const rate = parseNumber('rate', values.rate, 0.01)
  const seed = parseNumber('seed', values.seed, 0)
  const startAt = Date.now()
  const endAt = values.for === undefined ? Number.POSITIVE_INFINITY : startAt + parseDuration('for', values.for)
  const stream = demoStream({ seed, rate, startAt })
  const report = demoEvents(startAt)
  say(`playing ${rate} events/s with seed ${seed}${values.for === undefined ? ', until stopped' : ` for ${values.for}`}`)
  const reporting = setInterval(() => say(report.line(Date.now(), stream)), REPORT_EVERY_MS)
  try {
    await produce(tweetTarget(), async function playDemo(producer) {
      // After an interruption the stream goes on from now: what was missed is not made up for.
      let event = stream.next()
      while (event.at < Date.now() - REPORT_EVERY_MS) event = stream.next()
      let first: typeof event | undefined = event
      await playInTime({
        next() {
          const next = first ?? stream.next()
          first = undefined
          return next.at < endAt ? next : undefined
        },
        send({ kind, at, tweet }) {
          report.sent(kind)
          if (tweet === undefined) producer.sendBytes(String(at), MALFORMED[at % MALFORMED.length], at)
          else producer.send(tweet, at)
        },
        isFull: () => producer.isFull,
        flush: producer.flush,
        now: Date.now,
        pause,
        stopped,
      })
    })
  } finally {
    clearInterval(reporting)
    say(report.line(Date.now(), stream))
  }
})
