import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { periodicJob } from '../../../../pipelines/engine/worker/periodic-job.ts'
import { manualRuntime } from '../../../../runtime/manual.ts'

const EVERY_MS = 60_000
/** A duration that is much longer than the time for which a stop waits for a run. */
const LONG_MS = 30_000

test('a job runs once per interval, even after a run has failed', async () => {
  const runtime = manualRuntime()
  let runs = 0
  async function run(): Promise<void> {
    if (++runs === 1) throw new Error('the server is down')
  }
  const job = periodicJob({ name: 'sweep', everyMs: EVERY_MS, run }, runtime)
  await job.start()
  runtime.advance(EVERY_MS)
  await nextTurn()
  expect([runs, job.report()]).toEqual([1, { failure: 'the server is down' }])
  runtime.advance(EVERY_MS)
  await nextTurn()
  expect([runs, job.report()]).toEqual([2, { failure: undefined }])
  await job.stop()
  await job.done
})

test('a stop waits for the current run, and closes the job only after the run', async () => {
  const runtime = manualRuntime()
  const ending = Promise.withResolvers<void>()
  const events: string[] = []
  const close = () => void events.push('closed')
  const job = periodicJob({ name: 'sweep', everyMs: EVERY_MS, run: () => ending.promise, close }, runtime)
  await job.start()
  runtime.advance(EVERY_MS)
  await nextTurn()
  const stopped = job.stop()
  await nextTurn()
  events.push('run ends')
  ending.resolve()
  await stopped
  expect(events).toEqual(['run ends', 'closed'])
})

test('a stop closes the job after a time limit if the current run does not end', async () => {
  const runtime = manualRuntime()
  const events: string[] = []
  const run = () => {
    events.push('run begins')
    return new Promise<void>(() => {})
  }
  const job = periodicJob({ name: 'sweep', everyMs: EVERY_MS, run, close: () => void events.push('closed') }, runtime)
  void job.done.then(() => events.push('done'))
  await job.start()
  runtime.advance(EVERY_MS)
  await nextTurn()
  void job.stop().then(() => events.push('stopped'))
  await nextTurn()
  expect(events).toEqual(['run begins'])
  runtime.advance(LONG_MS)
  await nextTurn()
  expect(events.toSorted()).toEqual(['closed', 'done', 'run begins', 'stopped'])
})

test('a fatal failure ends the job with this failure, and other failures do not', async () => {
  const runtime = manualRuntime()
  const failures = [new Error('the server is down'), new Error('the files are damaged')]
  let runs = 0
  const run = async () => {
    throw failures[runs++]
  }
  const isFatal = (error: unknown) => error === failures[1]
  const job = periodicJob({ name: 'scrub', everyMs: EVERY_MS, run, isFatal }, runtime)
  const ended = job.done.catch((error: unknown) => error)
  await job.start()
  for (let interval = 0; interval < 3; interval++) {
    runtime.advance(EVERY_MS)
    await nextTurn()
  }
  expect(await ended).toBe(failures[1])
  expect(runs).toBe(2)
  await job.stop()
})
