import { expect, test } from 'vitest'
import { memoryBroker } from '../../../kafka/memory/broker.ts'
import { memoryTransport } from '../../../kafka/memory/transport.ts'
import { fillIndex } from '../../../pipelines/indexes/fill.ts'
import type { SearchClient } from '../../../state/indexes/client.ts'
import { notesIndexOn } from './notes-index.ts'

/** Interval between two checks of whether the index is complete. */
const LOOK_EVERY_MS = 100

test('when the sink that fills an index has failed, nothing waits any longer for the index to become complete', async () => {
  const refusing: SearchClient = { call: async () => ({ status: 400, body: { error: { reason: 'a bad mapping' } } }) }
  const broker = memoryBroker()
  const deps = notesIndexOn(broker, refusing, 'unfillable').keeperDeps(memoryTransport(broker))
  const signals: (AbortSignal | undefined)[] = []
  const sleep = (ms: number, signal?: AbortSignal) => {
    if (ms === LOOK_EVERY_MS) signals.push(signal)
    return deps.runtime.sleep(ms, signal)
  }
  const turn = { signal: new AbortController().signal, token: 'token', confirm: async () => {} } as never
  const build = { index: 'unfillable', requestId: undefined, startedAt: 0 }
  const filling = fillIndex({ ...deps, runtime: { ...deps.runtime, sleep } }, turn, 'unfillable-1', build, 'topic', false)
  await expect(filling).rejects.toThrow('a bad mapping')
  expect(signals.length).toBeGreaterThan(0)
  expect(signals.every((signal) => signal?.aborted)).toBe(true)
})
