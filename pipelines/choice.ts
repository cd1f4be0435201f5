import type { PipelineService, WorkerRole } from './service.ts'
import { pipelineServices } from './services.ts'

/**
 * Returns the services that workers with a role run.
 *   @param names the configured services; an empty list means all services
 */
export function servicesFor(role: WorkerRole | 'all', names: readonly string[]): readonly PipelineService[] {
  const named = pipelineServices.filter(({ name }) => names.length === 0 || names.includes(name))
  return named.filter((service) => role === 'all' || service.role === role)
}
