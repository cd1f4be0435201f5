import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import type { RunPart } from '../../../deploy/local/run-file.ts'
import { unreadyParts } from '../../../deploy/local/unready-parts.ts'

/** A time limit that no test reaches. */
const PATIENT_MS = 30_000

/** Starts a fake process that is ready from the given check on. Before that, it names a missing part. */
async function part(name: string, kind: RunPart['kind'], readyAt: number) {
  const state = { checks: 0 }
  const server = createServer((_request, response) => {
    state.checks++
    response.statusCode = state.checks >= readyAt ? 200 : 503
    response.end(JSON.stringify({ missing: [{ name: 'view links', reason: 'still being built: partitions 0' }] }))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { part: { name, kind, address, logFile: 'x.log' } satisfies RunPart, state }
}

const patient = { timeoutMs: PATIENT_MS, isOver: () => false }

test('the start waits until workers and APIs are ready, and does not check other parts', async () => {
  const [worker, api, demo] = [await part('worker-0', 'worker', 1), await part('api-0', 'api', 3), await part('demo', 'demo', 1)]
  expect(await unreadyParts([worker.part, api.part, demo.part], patient)).toEqual([])
  expect([worker, api, demo].map(({ state }) => state.checks)).toEqual([1, 3, 0])
})

test('a part that is not ready in time is named with its reasons', async () => {
  const [worker, api] = [await part('worker-0', 'worker', 1), await part('api-0', 'api', Number.POSITIVE_INFINITY)]
  const lines = await unreadyParts([worker.part, api.part], { ...patient, timeoutMs: 0 })
  expect(lines).toEqual([expect.stringMatching(/^ {2}api-0 is not ready yet\n +view links: still being built: partitions 0$/)])
})

test('the wait ends at once when the start is interrupted', async () => {
  const { part: api } = await part('api-0', 'api', Number.POSITIVE_INFINITY)
  let checks = 0
  expect(await unreadyParts([api], { ...patient, isOver: () => ++checks > 2 })).toEqual([])
})
