import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { Plan } from '../plan.ts'
import { runPlan } from '../world.ts'
import { mutations, planOf } from './mutate.ts'

const PLANNED = mutations().filter((name) => existsSync(planOf(name)))

test.each(PLANNED)('the plan that detects the mutation %s has the right output without the mutation', async (name) => {
  const plan = JSON.parse(readFileSync(planOf(name), 'utf8')) as Plan
  expect((await runPlan(plan)).faults).toEqual([])
})
