import { expect, test } from 'vitest'
import { registryClient, SchemaNotFoundError, SchemaRefusedError } from '../../kafka/registry.ts'
import { testStack, uniqueName } from '../stack/index.ts'

const UNUSED_ID = 2_000_000_000

test('with the real registry, a schema is read back as registered, and refused and missing schemas cause different errors', async () => {
  const url = await testStack().registry()
  const client = registryClient({ url })
  const subject = uniqueName('client-value')
  const record = (...fields: object[]) => JSON.stringify({ type: 'record', name: 'R', fields })
  const id = await client.register(subject, record({ name: 'a', type: 'long' }))
  // The first client remembers the schema that it has registered.
  expect(JSON.parse(await registryClient({ url }).schemaById(id))).toEqual({
    type: 'record',
    name: 'R',
    fields: [{ name: 'a', type: 'long' }],
  })
  await expect(client.register(subject, record({ name: 'b', type: 'long' }))).rejects.toThrow(SchemaRefusedError)
  await expect(client.schemaById(UNUSED_ID)).rejects.toThrow(SchemaNotFoundError)
})
