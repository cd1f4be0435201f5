import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { endedProcesses } from '../../../../pipelines/engine/worker/ended-processes.ts'
import { manualRuntime } from '../../../../runtime/manual.ts'

const ANSWER_MAX_AGE_MS = 20
const ENDED_FOR_MS = 10_000

/**
 * Starts a server in place of the server in a worker process. It counts connections and closes them at once. `end`
 * simulates the end of the process.
 */
async function listening(): Promise<{ address: string; connections: () => number; end: () => Promise<void>; port: number }> {
  let connections = 0
  const server: Server = createServer((socket) => {
    connections++
    socket.on('error', () => undefined).destroy()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const end = async () => void (await new Promise((resolve) => server.close(resolve)))
  onTestFinished(end)
  return { address: `http://127.0.0.1:${port}`, connections: () => connections, end, port }
}

test('a process has ended if its address accepted a connection before and now refuses one', async () => {
  const runtime = manualRuntime()
  const hasEnded = endedProcesses(runtime)
  const { address, end } = await listening()
  expect(await hasEnded(address)).toBe(false)
  await end()
  runtime.advance(ANSWER_MAX_AGE_MS + 1)
  expect(await hasEnded(address)).toBe(true)
})

test('an address that has never accepted a connection proves nothing about a process', async () => {
  const { address, end } = await listening()
  await end()
  expect(await endedProcesses(manualRuntime())(address)).toBe(false)
})

test('the end of a process is reported for ten seconds; after that, an address that still refuses connections proves nothing', async () => {
  const runtime = manualRuntime()
  const hasEnded = endedProcesses(runtime)
  const { address, end } = await listening()
  await hasEnded(address)
  await end()
  runtime.advance(ANSWER_MAX_AGE_MS + 1)
  expect(await hasEnded(address)).toBe(true)
  runtime.advance(ENDED_FOR_MS + 1)
  expect(await hasEnded(address)).toBe(false)
  expect(await hasEnded(address)).toBe(false)
})

test('groups that check a process at the same time share one connection', async () => {
  const hasEnded = endedProcesses(manualRuntime())
  const { address, connections } = await listening()
  expect(await Promise.all([hasEnded(address), hasEnded(address), hasEnded(address)])).toEqual([false, false, false])
  expect(connections()).toBe(1)
})

test.each(['not an address', 'http://'])('an invalid address proves nothing about a process: %o', async (address) => {
  expect(await endedProcesses(manualRuntime())(address)).toBe(false)
})
