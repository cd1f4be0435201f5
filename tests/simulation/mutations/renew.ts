/**
 * `node tests/simulation/mutations/renew.ts NAME...`: replaces the plans of the named mutations with plans that
 * reveal these mutations. A change to the engine or the client changes the schedule of each plan, so a plan may no
 * longer reveal its mutation.
 */
import { writeFileSync } from 'node:fs'
import { mutatedSources, mutations, planOf } from './mutate.ts'

/** Maximum number of seeds for one mutation. They take several minutes. A rare mutation may need a further run. */
const SEEDS = 10_000

const names = process.argv.slice(2)
const unknown = names.filter((name) => !mutations().includes(name))
if (names.length === 0 || unknown.length > 0) {
  process.stderr.write(`usage: node tests/simulation/mutations/renew.ts NAME..., where NAME is one of: ${mutations().join(', ')}\n`)
  process.exit(1)
}
const sources = mutatedSources()
try {
  for (const name of names) {
    const plan = sources.findPlan(name, SEEDS)
    if (plan !== undefined) writeFileSync(planOf(name), `${plan}\n`)
    else process.exitCode = 1
    process.stdout.write(`${name}: ${plan === undefined ? `no output was wrong in ${SEEDS} runs` : 'has a new plan'}\n`)
  }
} finally {
  sources.delete()
}
