import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { freePort } from '../../../../deploy/local/ports.ts'
import { schemaRegistry } from '../../../../deploy/local/registry/component.ts'
import { guardedFolder } from '../../../stack/folder.ts'
import { privateKafka, privateRegistry, testStack, uniqueName } from '../../../stack/index.ts'
import { pythonEnvironment, runPython } from '../../../stack/python.ts'

const CLIENT = fileURLToPath(new URL('./confluent_client.py', import.meta.url))
const INSTALL_TIMEOUT_MS = 300_000

test(
  "Confluent's Python client can register schemas, produce, evolve a schema and consume",
  async () => {
    await pythonEnvironment('confluent')
    const count = 50
    const output = await runPython(CLIENT, {
      args: [await testStack().kafka(), await testStack().registry(), uniqueName('payments'), String(count)],
    })
    // Half of the ids exceed 2^53, so the test compares their digits. As numbers they would be rounded.
    const ids = /"ids": \[([^\]]*)\]/.exec(output)![1].split(', ')
    const numbers = Array.from({ length: count }, (_, n) => n)
    expect(ids).toEqual([...numbers.map(String), ...numbers.map((n) => String(2n ** 60n + BigInt(n)))])
    expect(JSON.parse(output)).toEqual({
      ids: expect.anything(),
      amounts: numbers.reduce((sum, n) => sum + n / 4 + 0.5, 0),
      refused: expect.stringContaining("field 'currency' of record test.Payment"),
      versions: [1, 2],
      latest: { version: 2, fields: 3 },
      same_id: true,
      lookup: 1,
      compatible: false,
      level: 'FULL',
      level_set: 'FULL',
      deleted: [1, 2],
      gone: [404, 40401],
    })
  },
  INSTALL_TIMEOUT_MS,
)

test('schemas and ids survive kill -9 of the registry and of its broker', async () => {
  const broker = await privateKafka()
  const registry = await privateRegistry(broker.address)
  const post = (subject: string, schema: string) =>
    fetch(`${registry.address}/subjects/${subject}/versions`, { method: 'POST', body: JSON.stringify({ schema }) })
  for (const [index, type] of ['"int"', '"long"', '"string"'].entries()) {
    expect(await (await post(`s-${index}`, type)).json()).toEqual({ id: index + 1 })
  }

  await registry.kill()
  await registry.start()
  expect(await (await post('s-3', '"bytes"')).json()).toEqual({ id: 4 })

  await broker.kill()
  expect((await post('s-4', '"double"')).status).toBe(500)
  await broker.start()
  await expect.poll(async () => (await post('s-4', '"double"')).status, { timeout: 20_000 }).toBe(200)
  expect(await (await fetch(`${registry.address}/subjects`)).json()).toEqual(['s-0', 's-1', 's-2', 's-3', 's-4'])
  expect(await (await fetch(`${registry.address}/schemas/ids/5`)).json()).toEqual({ schema: '"double"' })

  expect((await fetch(`${registry.address}/subjects/s-0`, { method: 'DELETE' })).status).toBe(200)
  expect((await fetch(`${registry.address}/subjects/s-0?permanent=true`, { method: 'DELETE' })).status).toBe(200)
  await registry.stop()
  await registry.start()
  expect(await (await fetch(`${registry.address}/subjects?deleted=true`)).json()).toEqual(['s-1', 's-2', 's-3', 's-4'])
})

test('a registry that an earlier run left running is reused only for the same brokers', async () => {
  const { path } = guardedFolder()
  const place = { port: await freePort(), dataDir: join(path, 'registry'), runDir: join(path, 'run'), logFile: join(path, 'log') }
  const brokers = await testStack().kafka()
  expect(await schemaRegistry({ ...place, brokers }).start()).toBe('started')
  expect(await schemaRegistry({ ...place, brokers }).start()).toBe('reused')
  const moved = schemaRegistry({ ...place, brokers: `${brokers},${brokers}` })
  expect(await moved.start()).toBe('started')
  await moved.stop()
})
