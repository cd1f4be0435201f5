import { expect, test } from 'vitest'
import type { DemoCaller, Reply } from '../../../../tools/demo/http/client.ts'
import { personAt } from '../../../../tools/demo/matches/people.ts'
import { perform } from '../../../../tools/demo/matches/play.ts'
import { type DemoMatchEvent, demoMatches } from '../../../../tools/demo/matches/stream.ts'

const [ann, bob] = [personAt(1, 0), personAt(1, 1)]
const AT = 0

async function performed(event: DemoMatchEvent, answer: (call: string) => Partial<Reply> = () => ({})) {
  const calls: string[] = []
  const counts = new Map<string, number>()
  const client = {
    async ask({ subject }: DemoCaller, method: string, path: string) {
      expect(path).toMatch(/^\/v1\//)
      const call = `${method} ${path.slice('/v1/'.length)}`
      calls.push(call)
      expect(subject).toBe(ann.userId)
      return { status: 200, code: '', body: {}, ...answer(call) }
    },
  }
  const stream = demoMatches({ seed: 1, rate: 1, startAt: AT })
  await perform(event, stream, client, (what) => void counts.set(what, (counts.get(what) ?? 0) + 1))
  return { calls, counts: Object.fromEntries(counts) }
}

test('a new user gets a profile and a place', async () => {
  const { calls, counts } = await performed({ at: AT, kind: 'appear', person: ann, place: ann.home })
  expect(calls).toEqual(['PUT me', 'POST location'])
  expect(counts).toEqual({ users: 1 })
})

test('a swipe that makes a match counts as a swipe and as a match, and a refused swipe counts as an error', async () => {
  const event: DemoMatchEvent = { at: AT, kind: 'swipe', person: ann, target: bob, direction: 'RIGHT' }
  const matched = await performed(event, () => ({ body: { match: { matched: true } } }))
  expect(matched.counts).toEqual({ swipes: 1, matches: 1 })
  const refused = await performed(event, () => ({ status: 429, code: 'rate_limit_exceeded' }))
  expect(refused.counts).toEqual({ rate_limit_exceeded: 1 })
})

test('a user answers at most three likes at once', async () => {
  const likes = Array.from({ length: 5 }, (_, index) => ({ user_id: personAt(1, index + 1).userId }))
  const { calls } = await performed({ at: AT, kind: 'answer', person: ann }, (call) => (call === 'GET likes' ? { body: { likes } } : {}))
  expect(calls).toEqual(['GET likes', 'POST swipe', 'POST swipe', 'POST swipe'])
})
