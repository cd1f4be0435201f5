import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { freePort } from '../../deploy/local/ports.ts'
import { testStack } from '../stack/index.ts'

const compose = parse(readFileSync('deploy/compose/compose.yaml', 'utf8'), { merge: true })

/**
 * Runs the health check of Kafka on another port.
 * @returns its exit code
 */
async function checkKafka(port: number): Promise<number> {
  const [kind, program, ...options] = compose.services.kafka.healthcheck.test as string[]
  expect(kind).toBe('CMD')
  const text = options.map((option) => option.replaceAll('$$', '$').replace('localhost/9092', `127.0.0.1/${port}`))
  const child = spawn(program, text, { stdio: 'ignore' })
  const [code] = await once(child, 'exit')
  return code
}

test('the health check of Kafka in Compose succeeds for a broker', async () => {
  const [, port] = (await testStack().kafka()).split(':')
  expect(await checkKafka(Number(port))).toBe(0)
})

test('the health check of Kafka in Compose fails if no server listens, or if the server closes the connection without an answer', async () => {
  expect(await checkKafka(await freePort())).toBe(1)
  const silent = createServer((socket) => socket.on('data', () => socket.end())).listen(0, '127.0.0.1')
  onTestFinished(() => void silent.close())
  await once(silent, 'listening')
  expect(await checkKafka((silent.address() as AddressInfo).port)).toBe(1)
})
