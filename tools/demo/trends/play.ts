import { playInTime } from '../../pace.ts'
import { tweetProducer } from '../../tweets/producer.ts'
import type { DemoService } from '../service.ts'
import { demoEvents } from './report.ts'
import { demoStream } from './stream.ts'

const REPORT_EVERY_MS = 15_000
/**
 * Malformed records in place of tweets. The first has no valid format byte; the second names a schema that does not
 * exist.
 */
const MALFORMED = [Buffer.from('not a tweet'), Buffer.from([0, 0x7f, 0xff, 0xff, 0xff, 1, 2, 3])]

/** Tweets of generated users in real places. */
export const trendsDemo: DemoService = {
  name: 'trends',
  async play({ say, stopped, pause, produce }, { rate, seed, startAt, endAt }) {
    const stream = demoStream({ seed, rate, startAt })
    const report = demoEvents(startAt)
    const reporting = setInterval(() => say(report.line(Date.now(), stream)), REPORT_EVERY_MS)
    try {
      await produce(tweetProducer, async function playTweets(producer) {
        // After an interruption, tweets that were due longer ago than the interval of the reports are skipped.
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
  },
}
