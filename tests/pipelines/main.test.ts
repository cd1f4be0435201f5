import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { startWorkerProcess } from '../api/worker-process.ts'
import { guardedFolder } from '../stack/folder.ts'

const MAIN = fileURLToPath(new URL('../../pipelines/main.ts', import.meta.url))

const folder = guardedFolder()

/** Kafka's error code UNSUPPORTED_VERSION. */
const UNSUPPORTED_VERSION = 35
/** Size of the length field that precedes each request and each response, in bytes. */
const LENGTH_BYTES = 4
const CORRELATION_ID_AT = 8

/** Starts a server that accepts connections and never answers. */
async function silentBroker(): Promise<{ readonly address: string; readonly connected: Promise<unknown> }> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    onTestFinished(() => void socket.destroy())
  })
  const connected = once(server, 'connection')
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, connected }
}

/**
 * Starts a server that answers every request like a broker that is too old to support it, and keeps its connections
 * open.
 * @returns its address
 */
async function oldBroker(): Promise<string> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    onTestFinished(() => void socket.destroy())
    socket.on('data', (request: Buffer) => {
      // The response has the correlation id, the error code, an empty list of versions, the throttle time, and no
      // tagged fields.
      const response = Buffer.alloc(LENGTH_BYTES + 12)
      response.writeInt32BE(response.length - LENGTH_BYTES)
      request.copy(response, LENGTH_BYTES, CORRELATION_ID_AT, CORRELATION_ID_AT + 4)
      response.writeInt16BE(UNSUPPORTED_VERSION, 8)
      response[10] = 1
      socket.write(response)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('a worker that cannot start ends and gives the reason, although a connection is still open', async () => {
  const env = { KAFKA_BROKERS: await oldBroker(), PIPELINES: 'limits' }
  await expect(startWorkerProcess(folder.path, env)).rejects.toThrow(
    /the worker ended with 1: the worker stopped: 127\.0\.0\.1:\d+ is not a broker that this transport supports/,
  )
})

test('a worker that waits for Kafka during its start handles SIGTERM itself, as the first process of a container must', async () => {
  const { address, connected } = await silentBroker()
  const env = { PATH: process.env.PATH, MILLRACE_HOME: folder.path, KAFKA_BROKERS: address, PIPELINES: 'limits' }
  const child = spawn(process.execPath, [MAIN], { cwd: folder.path, env, stdio: 'ignore' })
  const ended = once(child, 'close')
  await connected
  child.kill('SIGTERM')
  // Without a listener, the signal itself would end the process, so there would be no exit code.
  expect(await ended).toEqual([143, null])
})
