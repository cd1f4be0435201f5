import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { ApiError, errors } from '../../../api/kit/errors.ts'
import { createLogger } from '../../../api/kit/logging.ts'
import { people } from '../../../api/matches/people.ts'

test('before the partition counts are known, reads reject and never throw, because callers combine them', async () => {
  const unknown = () => {
    throw new ApiError(errors.not_ready)
  }
  const known = people({
    views: {} as Parameters<typeof people>[0]['views'],
    scripts: { run: async () => 1 },
    facts: { partitionOf: unknown },
    notes: { pendingOf: () => [] },
    log: createLogger('silent'),
    now: Date.now,
  })
  const [user, other] = [randomUUID(), randomUUID()]
  const reads = { own: known.own, stateOf: known.stateOf, active: known.active, self: known.self }
  for (const [name, read] of Object.entries(reads)) await expect(read(user), name).rejects.toMatchObject({ definition: errors.not_ready })
  for (const read of [known.pair(user, other), known.shown([other]), known.sever(user, 'x', 0, true)])
    await expect(read).rejects.toMatchObject({ definition: errors.not_ready })
})
