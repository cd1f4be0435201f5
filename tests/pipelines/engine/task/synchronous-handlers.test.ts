import { expect, test } from 'vitest'
import { testDriver } from '../../../../pipelines/engine/testing/test-driver.ts'
import type { Context, Stream } from '../../../../pipelines/engine/topology/api.ts'
import { topology } from '../../../../pipelines/engine/topology/topology.ts'
import { numberTopic, textTopic } from '../words.ts'

const input = textTopic('input', 1)
const output = numberTopic('output', 1)
const SECOND_MS = 1_000

/** Emits a record, but only after the handler has returned. */
async function emitLate(ctx: Context): Promise<void> {
  await undefined
  ctx.emit(output, 'k', 1)
}

const emits = [output]
/** TypeScript accepts async functions for all of these handlers, because their type returns void. */
const NODES: Readonly<Record<string, (stream: Stream<string, string>) => void>> = {
  'wall tick': (stream) => stream.tick('node', { everyMs: SECOND_MS, clock: 'wall', emits }, (_now, ctx) => emitLate(ctx)),
  'event tick': (stream) => stream.tick('node', { everyMs: SECOND_MS, clock: 'event', emits }, (_now, ctx) => emitLate(ctx)),
  'caught-up tick': (stream) => stream.tick('node', { everyMs: SECOND_MS, clock: 'caught-up', emits }, (_now, ctx) => emitLate(ctx)),
  beforeCommit: (stream) => stream.beforeCommit('node', { emits }, emitLate),
}

test.each(Object.keys(NODES))('an async %s stops the worker, because its later work would not be part of a commit', (kind) => {
  const tested = topology('async', (t) => NODES[kind](t.source(input)))
  function runAll(): void {
    const driver = testDriver(tested)
    driver.pipe(input, 'k', 'a line')
    driver.pipe(input, 'k', 'a line', { timestamp: driver.now + 2 * SECOND_MS })
    driver.advanceWallClock(2 * SECOND_MS)
  }
  expect(runAll).toThrow('async/node failed: it returned a promise, but handlers are synchronous')
})
