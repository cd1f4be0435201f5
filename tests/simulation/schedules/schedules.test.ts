import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { Plan } from '../plan.ts'
import { runPlan } from '../world.ts'

/** Plans that were reduced from wrong runs. Each one shows what its name says when the protection is taken away. */
const SCHEDULES = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.json'))

test.each(SCHEDULES)('the output of the stored schedule %s is right', async (name) => {
  const plan = JSON.parse(readFileSync(join(import.meta.dirname, name), 'utf8')) as Plan
  expect((await runPlan(plan)).faults).toEqual([])
})
