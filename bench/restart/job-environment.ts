import type { WorkerEnvironment } from '../engine/config.ts'

const COMMIT_MS = 100

/** Returns the environment for job J2 with exactly-once processing. The names of its topics begin with the group. */
export function jobEnvironment(brokers: string, group: string): Omit<WorkerEnvironment, 'stateDir'> {
  return {
    job: 'J2',
    brokers,
    input: `${group}-in`,
    output: `${group}-out`,
    group,
    guarantee: 'exactly-once',
    commitIntervalMs: COMMIT_MS,
    compression: 'none',
  }
}
