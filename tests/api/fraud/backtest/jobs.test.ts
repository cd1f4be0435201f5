import { expect, onTestFinished, test } from 'vitest'
import { backtestJobs, type ReplayStart } from '../../../../api/fraud/backtest/jobs.ts'
import { createLogger } from '../../../../api/kit/logging.ts'
import type { ViewScripts } from '../../../../state/views/view.ts'
import { NOON } from '../../../schemas/fraud/payments.ts'

/** Creates a fake Redis that stores the states of jobs. With `losesFirst`, its answer to the first job is lost. */
function fakeScripts(losesFirst = false): ViewScripts {
  const states = new Map<string, unknown>()
  return {
    async run({ name }, [job], args) {
      if (name === 'read-backtest') return [states.get(job) ?? null, 1]
      const isKnown = states.has(job)
      states.set(job, args[1])
      if (losesFirst && !isKnown && states.size === 1) throw new Error('no answer')
      return name === 'begin-backtest' ? [isKnown ? 'known' : 'begun'] : 1
    },
  }
}

/** Returns a replay that runs until it is cancelled. */
function endless(onRun = () => {}): ReplayStart {
  return {
    run() {
      onRun()
      const { promise, reject } = Promise.withResolvers<never>()
      return { done: promise, cancel: (reason) => reject(new Error(reason)) }
    },
    report: () => undefined,
  }
}

function openJobs(scripts: ViewScripts) {
  const jobs = backtestJobs({ scripts, log: createLogger('silent'), now: () => NOON })
  onTestFinished(() => jobs.close())
  return jobs
}

test('while a process runs the maximum number of jobs, a repeated request gets its job, and a new request is refused', async () => {
  const jobs = openJobs(fakeScripts())
  const start = async (jobId: string) => (await jobs.start({ jobId, subject: `caller of ${jobId}` }, endless())).outcome
  expect([await start('a'), await start('b')]).toEqual(['started', 'started'])
  expect([await start('a'), await start('b'), await start('c')]).toEqual(['started', 'started', 'full'])
})

test('a job that Redis has stored runs even if the reply of Redis was lost, so that a repeated request finds the job', async () => {
  const jobs = openJobs(fakeScripts(true))
  let runs = 0
  const start = (jobId: string) =>
    jobs.start(
      { jobId, subject: `caller of ${jobId}` },
      endless(() => void runs++),
    )
  await expect(start('a')).rejects.toThrow('no answer')
  await expect.poll(() => runs).toBe(1)
  expect([await start('a'), await start('b'), await start('c')].map(({ outcome }) => outcome)).toEqual(['started', 'started', 'full'])
  expect(runs).toBe(2)
})
