import { expect, test } from 'vitest'
import { decided } from '../../../../api/catalog/products/refusals.ts'
import { answering } from '../../../../api/kit/commands/idempotency.ts'
import { ApiError, errorBody, errors } from '../../../../api/kit/errors.ts'

async function bodyOf(work: () => unknown) {
  const error = await answering('k1', async () => work()).catch((failure: ApiError) => failure)
  return errorBody(error as ApiError, 'r')
}

test('a 503 offers a command_id, unless the same key would fail again', async () => {
  function fail(needsNewKey?: boolean) {
    return () => {
      throw new ApiError(errors.unavailable, { needsNewKey })
    }
  }
  expect(await bodyOf(fail())).toMatchObject({ error: 'unavailable', command_id: 'k1' })
  expect(await bodyOf(fail(true))).not.toHaveProperty('command_id')
})

test('a product that could not be stored after all attempts needs a new key', async () => {
  const body = await bodyOf(() => decided({ outcome: 'taken' }))
  expect(body.message).toContain('Try again with a new Idempotency-Key')
  expect(body).not.toHaveProperty('command_id')
})
