import { expect, test } from 'vitest'
import { jumpArguments } from '../../../../state/views/matches/jumps.ts'
import { matchUsersView, userKeys } from '../../../../state/views/matches/users.ts'
import { ANN } from '../../../pipelines/matches/swipes.ts'

test('a deletion removes what the API has stored, but a user who leaves and returns cannot jump more often', () => {
  const operations = matchUsersView.operationsFor(0, ANN, { view: { user_id: ANN, deleted_at: 5 } as never, result: null })
  const deleted = operations.flatMap((operation) => (operation.op === 'del' ? [operation.key] : []))
  const { profile, stack, building, refill, resume, jumps } = userKeys(0, ANN)
  expect(deleted.sort()).toEqual([profile, stack, building, refill, resume].sort())
  expect(deleted).not.toContain(jumps)
  // The key with the times of jumps is not deleted, because it expires within the hour that the deletion may take.
  const [, windowMs] = jumpArguments(0, 'x', false)
  expect(windowMs).toBeLessThanOrEqual(3_600_000)
})
