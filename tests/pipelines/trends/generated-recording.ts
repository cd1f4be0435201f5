import { writeFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { integer, pick, seededRandom } from '../../../tools/random/random.ts'

const SEED = 20121028
const DAY_MS = 24 * 60 * 60_000
const START = Date.UTC(2012, 9, 28)
/** Duration of the six events in the public recording, in days. */
const DAYS = 42
const FIRST_ID = 262_342_930_549_850_112n
/** Share of the tweets during an event that mention the event. All other tweets are chat. */
const ON_TOPIC = 0.5
const CHAT_WORDS = 400
const LONGEST_CHAT = 5

/**
 * The phrase of each event, and the event's name in the recording. The name determines where the users who tweet during
 * the event are located.
 */
const EVENTS = [
  ['cyclone amphora', '2012_Sandy_Like_Storm'],
  ['harbour flood', '2013_Queensland_Like_Flood'],
  ['lantern marathon', '2013_Boston_Like_Bombings'],
  ['silo fire', '2013_Texas_Like_Explosion'],
  ['prairie tornado', '2013_Oklahoma_Like_Tornado'],
  ['glacier lake', '2013_Alberta_Like_Flood'],
] as const

/** The terms of the events. They must rank near the top of the published lists. */
export const GENERATED_EVENTS: readonly string[] = EVENTS.map(([phrase]) => phrase)

/**
 * Writes a small recording in the format of the public one: six events, one after another, and chat about other topics.
 */
export function writeGeneratedRecording(path: string, tweets: number): void {
  const random = seededRandom(SEED)
  const rows = ['tweet_id,created_at,event,label,text']
  for (let i = 0; i < tweets; i++) {
    const [phrase, event] = EVENTS[Math.floor((i * EVENTS.length) / tweets)]
    const words = Array.from({ length: 1 + integer(random, LONGEST_CHAT) }, () => `word${integer(random, CHAT_WORDS)}`)
    const text =
      random() < ON_TOPIC
        ? `${pick(random, [phrase, phrase.toUpperCase()])}, #${phrase.replace(' ', '')} ${words.join(' ')}`
        : words.join(' ')
    const createdAt = new Date(START + ((i + random()) * DAYS * DAY_MS) / tweets).toISOString()
    rows.push(`${FIRST_ID + BigInt(i)},${createdAt},${event},generated,"${text}"`)
  }
  writeFileSync(path, gzipSync(`${rows.join('\n')}\n`))
}
