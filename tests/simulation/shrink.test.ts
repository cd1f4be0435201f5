import { expect, test } from 'vitest'
import { type Plan, planOf } from './plan.ts'
import { shrink } from './shrink.ts'

/** A plan with several parts of every kind. */
const PLAN: Plan = {
  ...planOf(1, 'counter'),
  brokers: 3,
  partitions: 3,
  standby: 1,
  sinks: true,
  workers: [1, 2, 3],
  records: Array.from({ length: 20 }, (_, number) => ({ at: number, number, chance: number })),
  faults: (['kill', 'stop', 'kill', 'broker', 'leader', 'cut'] as const).map((kind, at) => ({ at, kind, chance: at })),
}

test('a plan is reduced to the parts that reveal its error, and the reduced plan reveals the same kind of error', async () => {
  async function faultsOf({ records, faults, workers, seed }: Plan): Promise<string[]> {
    const isWrong = faults.some(({ kind }) => kind === 'broker') && records.some(({ number }) => number === 13) && workers.length >= 2
    return isWrong && seed !== PLAN.seed + 1 ? [`ledger of k${seed} is wrong`] : ['another fault']
  }
  const { plan, faults } = (await shrink(PLAN, { faultsOf }))!
  expect(plan.faults.map(({ kind }) => kind)).toEqual(['broker'])
  expect(plan.records.map(({ number }) => number)).toEqual([13])
  expect(plan).toMatchObject({ workers: [expect.any(Number), expect.any(Number)], brokers: 1, partitions: 1, standby: 0, sinks: false })
  expect(faults).toEqual([expect.stringContaining('ledger')])
})

test('a plan that reveals no error is not reduced', async () => {
  expect(await shrink(PLAN, { faultsOf: async () => [] })).toBeUndefined()
})
