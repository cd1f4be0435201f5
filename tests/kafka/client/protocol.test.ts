import { createRequire } from 'node:module'
import { Admin } from '@platformatic/kafka'
import { expect, test } from 'vitest'
import { Writer } from '../../../kafka/client/protocol.ts'

test("once the protocol package is loaded, Ajv is no longer patched, and the package's admin client still validates its options", () => {
  expect(Writer.create().length).toBe(0)
  const options = { clientId: 'c', bootstrapBrokers: ['localhost:9092'], strict: true }
  expect(() => new Admin({ ...options, retries: 'often' as unknown as number })).toThrow('retries')
  new Admin(options).close()
  const packaged = createRequire(createRequire(import.meta.url).resolve('@platformatic/kafka'))
  expect(Object.hasOwn(packaged('ajv/dist/2020.js').Ajv2020.prototype, 'compile')).toBe(false)
})
