import { expect, test } from 'vitest'
import { backtestJobs, type ReplayStart } from '../../../../api/fraud/backtest/jobs.ts'
import { createLogger } from '../../../../api/kit/logging.ts'
import type { ViewScripts } from '../../../../state/views/view.ts'
import { NOON } from '../../../schemas/fraud/payments.ts'

/** Creates a fake Redis that stores the states of jobs. */
function fakeScripts(): ViewScripts {
  const states = new Map<string, unknown>()
  return {
    async run({ name }, [job], args) {
      if (name === 'read-backtest') return [states.get(job) ?? null, 1]
      const isKnown = states.has(job)
      states.set(job, args[1])
      return name === 'begin-backtest' ? [isKnown ? 'known' : 'begun'] : 1
    },
  }
}

/** A replay that runs until it is cancelled. */
const endless: ReplayStart = {
  run() {
    const { promise, reject } = Promise.withResolvers<never>()
    return { done: promise, cancel: (reason) => reject(new Error(reason)) }
  },
  report: () => undefined,
}

test('while a process runs the maximum number of jobs, a repeated request gets its job, and a new one is refused', async () => {
  const jobs = backtestJobs({ scripts: fakeScripts(), log: createLogger('silent'), now: () => NOON })
  const start = async (jobId: string) => (await jobs.start({ jobId, subject: `caller of ${jobId}` }, endless)).outcome
  expect([await start('a'), await start('b')]).toEqual(['started', 'started'])
  expect([await start('a'), await start('b'), await start('c')]).toEqual(['started', 'started', 'full'])
  await jobs.close()
})
