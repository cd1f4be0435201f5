import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { pipelineLags } from '../../../deploy/local/pipeline-lag.ts'
import { LOOPBACK } from '../../../deploy/local/ports.ts'

async function worker(tasks: unknown): Promise<string> {
  const server = createServer((_request, response) => response.end(JSON.stringify(tasks)))
  await new Promise<void>((resolve) => server.listen(0, LOOPBACK, resolve))
  onTestFinished(() => void server.close())
  return `http://${LOOPBACK}:${(server.address() as AddressInfo).port}`
}

test('the lags of topologies and sinks are summed over all workers, and unreachable workers are skipped', async () => {
  const first = await worker({
    trends: { kind: 'topology', tasks: [{ lag: 3 }, { lag: 4 }], restoring: [{ task: '1_0' }] },
    'trends-view': { kind: 'sink', lanes: [{ lag: 5 }] },
  })
  const second = await worker({ trends: { kind: 'topology', tasks: [{ lag: 10 }], restoring: [] } })
  expect(await pipelineLags([first, second, `http://${LOOPBACK}:1`])).toEqual([
    { name: 'trends', records: 17, places: 3, restoring: 1 },
    { name: 'trends-view', records: 5, places: 1, restoring: 0 },
  ])
})

test('without workers, there are no lags', async () => {
  expect(await pipelineLags([])).toEqual([])
})
