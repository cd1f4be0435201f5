import { expect, test } from 'vitest'
import { topology } from '../../../../pipelines/engine/topology/topology.ts'
import { systemRuntime } from '../../../../runtime/system.ts'
import { bench, until } from '../harness.ts'
import { lines, wordCounts } from '../words.ts'

test('a clock that is set back does not delay commits', async () => {
  const { worker, send, latest } = bench()
  const echoing = topology(
    'timely',
    (t) => {
      t.source(lines).process('count', { emits: [wordCounts] }, (line, ctx) => ctx.emit(wordCounts, line, 1))
    },
    { commitWhenIdle: false },
  )
  let setBackMs = 0
  await worker(echoing, { runtime: { ...systemRuntime(), now: () => Date.now() - setBackMs } })
  send(lines, 'ann', 'before')
  await until(() => latest(wordCounts).has('before'), 'the worker commits')
  setBackMs = 3_600_000
  send(lines, 'ann', 'after')
  await until(() => latest(wordCounts).has('after'), 'the worker commits')
  expect([...latest(wordCounts).keys()].sort()).toEqual(['after', 'before'])
})

test('commits and wall ticks are not delayed while the clock is set forward, or after it was corrected', async () => {
  const { worker, send, latest } = bench()
  const times: number[] = []
  const ticking = topology(
    'timely',
    (t) => {
      t.source(lines)
        .process('count', { emits: [wordCounts] }, (line, ctx) => ctx.emit(wordCounts, line, 1))
        .tick('tick', { everyMs: 20, clock: 'wall' }, (time) => void times.push(time))
    },
    { commitWhenIdle: false },
  )
  let aheadMs = 0
  await worker(ticking, { runtime: { ...systemRuntime(), now: () => Date.now() + aheadMs } })
  for (const [word, ms] of [
    ['before', 0],
    ['ahead', 3_600_000],
    ['right again', 0],
  ] as const) {
    aheadMs = ms
    times.length = 0
    send(lines, 'ann', word)
    await until(() => latest(wordCounts).has(word), 'the worker commits')
    await until(() => times.some((time) => Math.abs(time - Date.now() - ms) < 1_800_000), 'a tick has the changed time')
  }
  expect([...latest(wordCounts).keys()].sort()).toEqual(['ahead', 'before', 'right again'])
})

test('a clock that is set back by an hour does not delay wall ticks', async () => {
  const times: number[] = []
  const ticking = topology('ticking', (t) => {
    t.source(lines).tick('tick', { everyMs: 20, clock: 'wall' }, (time) => void times.push(time))
  })
  let setBackMs = 0
  const running = await bench().worker(ticking, { runtime: { ...systemRuntime(), now: () => Date.now() - setBackMs } })
  await until(() => running.status().ready && times.length > 0, 'the worker ticks')
  setBackMs = 3_600_000
  await until(() => times.some((time) => time < Date.now() - 1_800_000), 'a tick has the new time')
  const count = times.length
  await until(() => times.length > count, 'the ticks continue')
  expect(times.at(-1)).toBeLessThan(Date.now() - 1_800_000)
})

test('a clock that is set back by an hour between the start of a task and its first tick does not delay wall ticks', async () => {
  const times: number[] = []
  const ticking = topology('ticking', (t) => {
    t.source(lines).tick('tick', { everyMs: 20, clock: 'wall' }, (time) => void times.push(time))
  })
  // The clock stands still, so that no tick is due before the clock is set back.
  const ahead = Date.now() + 3_600_000
  let now = () => ahead
  const running = await bench().worker(ticking, { runtime: { ...systemRuntime(), now: () => now() } })
  await until(() => running.status().ready, 'the task runs')
  now = Date.now
  await until(() => times.length > 0, 'a tick', 10_000)
  expect(times[0]).toBeLessThan(ahead - 1_800_000)
})
