import type { PipelineService, WorkerRole } from './service.ts'
import { pipelineServices } from './services.ts'

/**
 * Returns the services that a worker with this role runs.
 * @param names the configured services; an empty list means all services
 */
export function servicesFor(role: WorkerRole | 'all', names: readonly string[]): readonly PipelineService[] {
  const named = pipelineServices.filter(({ name }) => names.length === 0 || names.includes(name))
  return named.filter((service) => role === 'all' || service.role === role)
}
