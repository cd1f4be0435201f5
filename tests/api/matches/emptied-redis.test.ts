import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { matchesApi } from './harness.ts'

test.each(['feed', 'likes', 'matches', 'blocks', 'me'])('GET /v1/%s gets 503 after Redis was emptied', async (path) => {
  const { app, bearer, redis } = await matchesApi()
  redis.flush()
  const answer = await app.request(`/v1/${path}`, { headers: await bearer({ sub: randomUUID() }) })
  expect([answer.status, ((await answer.json()) as { error: string }).error]).toEqual([503, 'not_ready'])
})
