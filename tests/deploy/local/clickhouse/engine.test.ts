import { expect, test } from 'vitest'
import { engineError } from '../../../../deploy/local/clickhouse/engine.ts'

const NOT_ENOUGH_SPACE = 243
const UNKNOWN_EXCEPTION = 1002

test('a full disk causes an error with the code NOT_ENOUGH_SPACE, so that clients retry', () => {
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' })
  const { code, message } = engineError(full)
  expect(code).toBe(NOT_ENOUGH_SPACE)
  expect(message).toBe('Code: 243. DB::Exception: ENOSPC: no space left on device, write. (NOT_ENOUGH_SPACE)')
  expect(engineError(new Error('broken')).code).toBe(UNKNOWN_EXCEPTION)
})
