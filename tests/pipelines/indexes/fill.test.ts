import { expect, test } from 'vitest'
import { memoryBroker } from '../../../kafka/memory/broker.ts'
import { memoryTransport } from '../../../kafka/memory/transport.ts'
import { fillIndex } from '../../../pipelines/indexes/fill.ts'
import type { SearchClient } from '../../../state/indexes/client.ts'
import { notesIndexOn } from './notes-index.ts'

/** Interval between two checks of whether the index is complete. */
const LOOK_EVERY_MS = 100

test('when the sink that fills an index fails, the wait for the index to become complete ends', async () => {
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

test('no index is filled while the partition count of its topic is unknown, because the declared count may be wrong', async () => {
  const refusing: SearchClient = { call: async () => expect.unreachable('the search server gets no request') }
  const broker = memoryBroker()
  const unknowing = { ...memoryTransport(broker), partitionCounts: async () => new Map() }
  const deps = notesIndexOn(broker, refusing, 'uncounted').keeperDeps(unknowing)
  const turn = { signal: new AbortController().signal, token: 'token', confirm: async () => {} } as never
  const build = { index: 'uncounted', requestId: undefined, startedAt: 0 }
  await expect(fillIndex(deps, turn, 'uncounted-1', build, 'topic', false)).rejects.toThrow('topic uncounted-notes does not exist yet')
})
