import { servicesFor } from '../../pipelines/choice.ts'
import type { WorkerRole } from '../../pipelines/service.ts'
import { splitList } from '../../settings/variables.ts'
import type { LocalConfig } from './config.ts'

/** Returns the number of worker processes of each role; 0 if no selected pipeline service has this role. */
export function workerCounts({
  workers,
  deciders,
  pipelines = 'all',
}: Pick<LocalConfig, 'workers' | 'deciders' | 'pipelines'>): Record<WorkerRole, number> {
  const names = pipelines === 'all' ? [] : splitList(pipelines)
  const countOf = (role: WorkerRole, count: number) => (servicesFor(role, names).length === 0 ? 0 : count)
  return { bulk: countOf('bulk', workers), deciding: countOf('deciding', deciders) }
}
