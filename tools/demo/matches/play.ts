import { apiTarget } from '../../config.ts'
import type { DemoClient, Reply } from '../http/client.ts'
import { type Count, playRequests } from '../http/play-requests.ts'
import { servedClient } from '../http/served.ts'
import type { DemoService } from '../service.ts'
import { personAt } from './people.ts'
import { type DemoMatchEvent, type DemoMatches, demoMatches } from './stream.ts'

/** Maximum number of events per second. Each event is one to four HTTP requests. */
const GREATEST_RATE = 10
/** Maximum number of likes that a user answers at once. */
const ANSWERED = 3
const PREFIX = '/v1/'

/** A demo with generated users around San Francisco, who use the match feed through its HTTP API. */
export const matchesDemo: DemoService = {
  name: 'matches',
  async play(session, { rate, seed, endAt }) {
    const client = await servedClient(session, {
      url: apiTarget(),
      what: 'the match feed',
      endAt,
      ask: (api) => api.ask({ subject: personAt(seed, 0).userId }, 'GET', `${PREFIX}me`),
      isServed: ({ status, code }) => status === 200 || code === 'profile_not_found',
    })
    if (client === undefined) return
    // The stream starts only now, because the API may have become ready long after the command was started.
    const stream = demoMatches({ seed, rate: Math.min(rate, GREATEST_RATE), startAt: Date.now() })
    await playRequests(session, { next: stream.next, perform: (event, count) => perform(event, stream, client, count), endAt })
  },
}

/**
 * Performs the event through the API. Refused requests are counted and not repeated.
 * @param count counts the results
 */
export async function perform(event: DemoMatchEvent, stream: DemoMatches, client: DemoClient, count: Count): Promise<void> {
  const { person } = event
  const me = person.userId

  async function ask(method: string, path: string, body?: object): Promise<Reply> {
    const reply = await client.ask({ subject: me }, method, `${PREFIX}${path}`, body)
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
