import { expect, test } from 'vitest'
import { bufferPool } from '../../../kafka/client/appender.ts'

const BURST = 20

function fill(pool: ReturnType<typeof bufferPool>): void {
  for (let i = 0; i < BURST; i++) pool.give(Buffer.alloc(1_024))
}

function freeBuffers(pool: ReturnType<typeof bufferPool>): number {
  let free = 0
  while (pool.take() !== undefined) free++
  return free
}

test('after a burst, a pool drops the buffers that are no longer needed', () => {
  const pool = bufferPool()
  fill(pool)
  for (let use = 0; use < 1_000; use++) pool.give(pool.take()!)
  expect(freeBuffers(pool)).toBe(1)
})

test('a pool keeps buffers that its user needs regularly', () => {
  const pool = bufferPool()
  fill(pool)
  for (let use = 0; use < 100; use++) {
    const taken = Array.from({ length: BURST }, () => pool.take()!)
    for (const buffer of taken) pool.give(buffer)
  }
  expect(freeBuffers(pool)).toBe(BURST)
})
