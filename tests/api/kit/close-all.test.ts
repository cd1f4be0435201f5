import { expect, test } from 'vitest'
import { closeAll } from '../../../api/kit/close-all.ts'

test('parts are closed in reverse order, even if one of them fails', async () => {
  const closed: string[] = []
  const failures: unknown[] = []
  const part = (name: string) => async () => void closed.push(name)
  const failing = async () => {
    throw new Error('stuck')
  }
  await closeAll([part('first'), failing, part('last')], { error: (fields) => void failures.push(fields) })
  expect([closed, failures]).toEqual([['last', 'first'], [{ reason: 'stuck' }]])
})
