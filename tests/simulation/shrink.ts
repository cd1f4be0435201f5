import type { Plan } from './plan.ts'
import { runPlan } from './world.ts'

export interface Shrinking {
  /** Runs a plan and returns the errors that it reveals. */
  readonly faultsOf: (plan: Plan) => Promise<readonly string[]>
  /** Maximum number of runs to reduce one plan. */
  readonly mostRuns: number
}

export interface Shrunk {
  readonly plan: Plan
  readonly faults: readonly string[]
  readonly runs: number
}

/**
 * How many other seeds to try with a smaller plan. Leaving out a part changes later events, so the smaller plan may
 * reveal the error only with different delays.
 */
const FURTHER_SEEDS = 2
const DEFAULT_MOST_RUNS = 600

/** Returns the kind of an error: the first words of its description, without details that differ from run to run. */
function kindOf(fault: string): string {
  return fault
    .replace(/\S*\d\S*/g, '')
    .trim()
    .split(/\s+/)
    .slice(0, 3)
    .join(' ')
}

/**
 * Leaves out parts of a plan as long as the plan still reveals an error of the same kind.
 * @returns the reduced plan, or undefined if the plan reveals no error
 */
export async function shrink(plan: Plan, options: Partial<Shrinking> = {}): Promise<Shrunk | undefined> {
  const { mostRuns = DEFAULT_MOST_RUNS, faultsOf = async (of: Plan) => (await runPlan(of)).faults } = options
  let runs = 1
  const wanted = await faultsOf(plan)
  if (wanted.length === 0) return undefined
  const kinds = new Set(wanted.map(kindOf))
  let best = { plan, faults: wanted }

  /** Adopts a smaller plan if it still reveals the error, with the same or different delays. */
  async function take(smaller: Plan): Promise<boolean> {
    for (let further = 0; further <= FURTHER_SEEDS && runs < mostRuns; further++) {
      const tried = { ...smaller, seed: smaller.seed + further }
      runs++
      const faults = (await faultsOf(tried)).filter((fault) => kinds.has(kindOf(fault)))
      if (faults.length === 0) continue
      best = { plan: tried, faults }
      return true
    }
    return false
  }

  /** Leaves out parts of a list: first large parts, then single entries. */
  async function shorten(list: 'faults' | 'records' | 'workers', least: number): Promise<void> {
    for (let size = Math.ceil(best.plan[list].length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
      for (let at = 0; at < best.plan[list].length; ) {
        const left = [...best.plan[list]]
        left.splice(at, size)
        if (left.length < least || !(await take({ ...best.plan, [list]: left }))) at += size
      }
    }
  }

  for (let before: Plan | undefined; before !== best.plan && runs < mostRuns; ) {
    before = best.plan
    await shorten('faults', 0)
    await shorten('workers', 1)
    await shorten('records', 0)
    for (const simpler of simplerThan(best.plan)) if (isSimpler(simpler, best.plan)) await take({ ...best.plan, ...simpler })
  }
  return { ...best, runs }
}

function simplerThan({ brokers, partitions }: Plan): Partial<Plan>[] {
  return [
    { sinks: false },
    { standby: 0 },
    { warmUpMaxMs: 0 },
    { isSuspended: false },
    { upgradedAt: null },
    { firstEpoch: 0 },
    ...Array.from({ length: brokers - 1 }, (_, i) => ({ brokers: i + 1 })),
    ...Array.from({ length: partitions - 1 }, (_, i) => ({ partitions: i + 1 })),
  ]
}

function isSimpler(change: Partial<Plan>, plan: Plan): boolean {
  return Object.entries(change).some(([name, value]) => {
    const is = plan[name as keyof Plan]
    return typeof value === 'number' && typeof is === 'number' ? value < is : value !== is
  })
}
