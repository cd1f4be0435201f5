import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { stateScrub } from '../../../../pipelines/engine/worker/erasable-state.ts'
import { manualRuntime } from '../../../../runtime/manual.ts'
import { StateCorrupted } from '../../../../state/stores/errors.ts'

const ERASE_WITHIN_MS = 3_600_000

test('the rewrite of erasable state is repeated after a failure, but damage ends it', async () => {
  const runtime = manualRuntime()
  const damage = new Error('rewriting the state', { cause: new StateCorrupted('a checksum is wrong') })
  const failures = [new Error('the disk is full'), damage]
  let runs = 0
  const scrub = stateScrub({ scrub: async () => Promise.reject(failures[runs++]) }, ERASE_WITHIN_MS, runtime)
  const ends: unknown[] = []
  scrub.done.catch((error: unknown) => ends.push(error))
  await scrub.start()
  for (let interval = 0; interval < 3; interval++) {
    runtime.advance(ERASE_WITHIN_MS / 4)
    await nextTurn()
  }
  expect([ends, runs]).toEqual([[damage], 2])
  await scrub.stop()
})
