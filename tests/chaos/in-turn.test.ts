import { expect, test } from 'vitest'
import { inflictInTurn, type PlannedFault } from './in-turn.ts'

type Fault = PlannedFault<string>

const fault = (kind: string, overlaps: boolean): Fault => ({ kind, api: 0, holdMs: 0, gapMs: 0, overlaps })

/** Applies faults of separate parts. The kinds that contain `broken` fail, but only after all faults have begun. */
function inflict(faults: readonly Fault[], suffered: string[] = []): Promise<void> {
  const allBegun = Promise.withResolvers<void>()
  return inflictInTurn(faults, {
    partsOf: ({ kind }) => [kind],
    async suffer({ kind }) {
      suffered.push(kind)
      if (suffered.length === faults.length) allBegun.resolve()
      await allBegun.promise
      if (kind.includes('broken')) throw new Error(`${kind} failed`)
    },
    say: () => undefined,
  })
}

test('if several faults fail, the error names each of them', async () => {
  const failed = inflict([fault('broken one', false), fault('broken two', true), fault('whole', true)])
  await expect(failed).rejects.toThrow('2 faults failed: broken one failed; broken two failed')
})

test('if one fault fails, its error is thrown once the others have ended', async () => {
  let isEnded = false
  const failed = inflictInTurn([fault('broken', false), fault('slow', true)], {
    partsOf: ({ kind }) => [kind],
    async suffer({ kind }) {
      if (kind === 'broken') throw new Error('broken failed')
      await new Promise((resolve) => setImmediate(resolve))
      isEnded = true
    },
    say: () => undefined,
  })
  await expect(failed).rejects.toThrow(/^broken failed$/)
  expect(isEnded).toBe(true)
})

test("a fault that waits for a failed fault of the same part does not repeat that fault's error", async () => {
  const failed = inflictInTurn([fault('broken', false), fault('next', true)], {
    partsOf: () => ['the only part'],
    suffer: () => Promise.reject(new Error('broken failed')),
    say: () => undefined,
  })
  await expect(failed).rejects.toThrow(/^broken failed$/)
})
