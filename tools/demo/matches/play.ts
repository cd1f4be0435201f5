import { apiTarget } from '../../config.ts'
import { playInTime } from '../../pace.ts'
import type { StreamSession } from '../../session.ts'
import { readDevelopmentAuth } from '../../token/config.ts'
import type { DemoOptions, DemoService } from '../service.ts'
import { type DemoClient, demoClient, type Reply } from './client.ts'
import { personAt } from './people.ts'
import { type DemoMatchEvent, type DemoMatches, demoMatches } from './stream.ts'

/** Each event is one or more HTTP requests, each of which makes several records. */
const GREATEST_RATE = 10
const MAX_IN_FLIGHT = 8
const REPORT_EVERY_MS = 15_000
const RETRY_MS = 2_000
/** Likes that a user answers at once. */
const ANSWERED = 3

/** Generated users around San Francisco, who use the match feed through its HTTP API. */
export const matchesDemo: DemoService = {
  name: 'matches',
  async play(session, options) {
    const url = apiTarget()
    const client = await clientFor(url, session)
    if (client === undefined || !(await isServed(client, url, session, options))) return
    await playStream(client, session, options)
  },
}

async function clientFor(url: string, { say }: StreamSession): Promise<DemoClient | undefined> {
  try {
    return await demoClient(url, readDevelopmentAuth())
  } catch (error) {
    say(`not played: ${(error as Error).message}`)
    return undefined
  }
}

/** Waits for the API. Returns false if it will not serve the demo, which then does nothing. */
async function isServed(client: DemoClient, url: string, { say, stopped, pause }: StreamSession, { seed, endAt }: DemoOptions) {
  let hasSaid = false
  while (!stopped() && Date.now() < endAt) {
    const { status, code } = await client.ask(personAt(seed, 0).userId, 'GET', 'me')
    if (status === 200 || code === 'profile_not_found') return true
    if (status === 401) return refuse(`the API at ${url} does not accept tokens of this machine's development key`)
    if (status === 404) return refuse(`the API at ${url} does not run the match feed`)
    if (!hasSaid) say(`the API at ${url} is not ready yet (${code}); waiting`)
    hasSaid = true
    await pause(Math.min(RETRY_MS, endAt - Date.now()))
  }
  return false

  function refuse(reason: string): boolean {
    say(`not played: ${reason}`)
    return false
  }
}

async function playStream(client: DemoClient, { say, stopped, pause }: StreamSession, { rate, seed, endAt }: DemoOptions) {
  // The API may have become ready long after the command was started.
  const stream = demoMatches({ seed, rate: Math.min(rate, GREATEST_RATE), startAt: Date.now() })
  const counts = new Map<string, number>()
  const inFlight = new Set<Promise<void>>()
  const count = (what: string) => void counts.set(what, (counts.get(what) ?? 0) + 1)
  const report = () => say([...counts].map(([what, times]) => `${what} ${times}`).join(', ') || 'nothing yet')
  const reporting = setInterval(report, REPORT_EVERY_MS)
  try {
    await playInTime({
      next() {
        const event = stream.next()
        return event.at < endAt ? event : undefined
      },
      send(event) {
        const sending = perform(event, stream, client, count).finally(() => inFlight.delete(sending))
        inFlight.add(sending)
      },
      isFull: () => inFlight.size >= MAX_IN_FLIGHT,
      flush: async () => void (await Promise.all(inFlight)),
      now: Date.now,
      pause,
      stopped,
    })
  } finally {
    clearInterval(reporting)
    report()
  }
}

/**
 * Does what the event says, through the API. Refusals are counted and not repeated.
 * @param count counts what has happened
 */
export async function perform(
  event: DemoMatchEvent,
  stream: DemoMatches,
  client: DemoClient,
  count: (what: string) => void,
): Promise<void> {
  const { person } = event
  const me = person.userId

  async function ask(method: string, path: string, body?: object): Promise<Reply> {
    const reply = await client.ask(me, method, path, body)
    if (reply.code !== '') count(reply.code)
    return reply
  }

  async function swipe(targetId: string): Promise<void> {
    const direction = stream.opinion(person, targetId)
    const { code, body } = await ask('POST', 'swipe', { target_user_id: targetId, direction })
    if (code !== '') return
    count('swipes')
    if (body.match?.matched === true) count('matches')
  }

  switch (event.kind) {
    case 'appear': {
      const { code } = await ask('PUT', 'me', event.person.profile)
      if (code === '') count('users')
      await ask('POST', 'location', event.place)
      return
    }
    case 'move':
      if ((await ask('POST', 'location', event.place)).code === '') count('moves')
      return
    case 'swipe':
      return await swipe(event.target.userId)
    case 'answer': {
      const { code, body } = await ask('GET', 'likes')
      if (code !== '') return
      for (const { user_id } of body.likes.slice(0, ANSWERED)) await swipe(user_id)
    }
  }
}
