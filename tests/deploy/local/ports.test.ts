import { expect, test } from 'vitest'
import { freePort } from '../../../deploy/local/ports.ts'

test('does not return the same port twice, even if no server listens on it yet', async () => {
  let calls = 0
  /** Returns each random number twice in a row, so that the code tries every port twice. */
  const random = () => (Math.floor(calls++ / 2) % 1_000) / 1_000
  const ports = await Promise.all(Array.from({ length: 10 }, () => freePort(random)))
  expect(new Set(ports).size).toBe(10)
})
